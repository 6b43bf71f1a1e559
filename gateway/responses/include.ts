import { z } from 'zod'

/** Further members of an answer; all that there are come unasked. */
export const include = z
  .array(
    z.enum([
      'reasoning.encrypted_content',
      'message.output_text.logprobs',
      'message.input_image.image_url',
      'file_search_call.results',
      'web_search_call.action.sources',
      'web_search_call.results',
      'computer_call_output.output.image_url',
      'code_interpreter_call.outputs',
    ]),
  )
  .max(256)
