import type { ASTNode } from 'cel-js'

/** Texts that variables of macros stand for. */
type Texts = ReadonlyMap<string, readonly string[]>

/** Beyond that it is not looked at which texts are put together. */
const MOST_TEXTS = 1_000
const NONE: Texts = new Map()

/**
 * Whether an expression that was measured is true for such subjects only as it names: by `==`, by `in`, or by a beginning that `names` says
 * names somebody. May return false for one that does so in another way.
 */
export function pinsSubject(node: ASTNode, names: (beginning: string) => boolean, texts: Texts = NONE): boolean {
  const of = (child: ASTNode): boolean => pinsSubject(child, names, texts)
  switch (node.op) {
    case '&&':
      return node.args.some(of)
    case '||':
      return node.args.every(of)
    case '?:': {
      const [condition, one, other] = node.args
      return (of(condition) || of(one)) && of(other)
    }
    case '==': {
      const [left, right] = node.args
      return isSubject(left)
        ? textsOf(right, texts) !== undefined
        : isSubject(right) && textsOf(left, texts) !== undefined
    }
    case 'in': {
      const [left, right] = node.args
      return isSubject(left) && listed(right, texts) !== undefined
    }
    case 'rcall': {
      const [name, receiver, [first, second]] = node.args
      if (name === 'startsWith' && isSubject(receiver) && first !== undefined) {
        return textsOf(first, texts)?.every(names) ?? false
      }
      const elements = listed(receiver, texts)
      if (name !== 'exists' || elements === undefined || first?.op !== 'id' || second === undefined) return false
      return pinsSubject(second, names, new Map([...texts, [first.args, elements]]))
    }
    default:
      return false
  }
}

function isSubject(node: ASTNode): boolean {
  return node.op === 'id' && node.args === 'subject'
}

/** The texts of a list that is written out; undefined: it is not, or holds something else. */
function listed(node: ASTNode, texts: Texts): readonly string[] | undefined {
  if (node.op !== 'list') return undefined
  const elements = node.args.map((element) => textsOf(element, texts))
  return elements.every((element) => element !== undefined) ? elements.flat() : undefined
}

/** All texts that an expression can be; undefined: it is not made of what is written there. */
function textsOf(node: ASTNode, texts: Texts): readonly string[] | undefined {
  switch (node.op) {
    case 'value':
      return typeof node.args === 'string' ? [node.args] : undefined
    case 'id':
      return texts.get(node.args)
    case '+': {
      const [one, other] = node.args.map((child) => textsOf(child, texts))
      if (one === undefined || other === undefined || one.length * other.length > MOST_TEXTS) return undefined
      return one.flatMap((beginning) => other.map((end) => beginning + end))
    }
    default:
      return undefined
  }
}
