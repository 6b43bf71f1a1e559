import type { ASTNode } from 'cel-js'

/** The possible texts of the variables of macros. */
type Texts = ReadonlyMap<string, readonly string[]>

/** Maximum number of concatenated texts that are considered. */
const MOST_TEXTS = 1_000
const NONE: Texts = new Map()

/**
 * Whether a measured expression is true only for subjects that it names: by `==`, by `in`, or by a prefix that `names`
 * accepts. May return false for an expression that does so in another way.
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

/** The texts of a list literal; undefined if it is not one, or contains anything else. */
function listed(node: ASTNode, texts: Texts): readonly string[] | undefined {
  if (node.op !== 'list') return undefined
  const elements = node.args.map((element) => textsOf(element, texts))
  return elements.every((element) => element !== undefined) ? elements.flat() : undefined
}

/** All texts that an expression can have; undefined if it is not made of literals. */
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
