import { type CreateChatBody, presetBody as chatBody } from '../chat/body.ts'
import { publicField as chatField } from '../chat/public-field.ts'
import { toSettings as toChatSettings, toSystem as toChatSystem } from '../chat/to-settings.ts'
import { type CreateMessageBody, presetBody as messagesBody } from '../messages/body.ts'
import { publicField as messagesField } from '../messages/public-field.ts'
import { toSettings as toMessagesSettings, toSystem as toMessagesSystem } from '../messages/to-settings.ts'
import { type CreateResponseBody, presetBody as responsesBody } from '../responses/body.ts'
import { publicField as responsesField } from '../responses/public-field.ts'
import { toSettings as toResponsesSettings, toSystem as toResponsesSystem } from '../responses/to-settings.ts'
import { createPresetFrom } from './create.ts'

export const createPresetFromResponse = createPresetFrom({
  path: 'responses',
  id: 'presets.createFromResponses',
  body: responsesBody,
  system: 'instructions',
  toSettings: toResponsesSettings,
  toSystem: toResponsesSystem,
  publicField: (field, body) => responsesField(field, { ...body, input: '' } as CreateResponseBody, {}),
})

export const createPresetFromChat = createPresetFrom({
  path: 'chat/completions',
  id: 'presets.createFromChat',
  body: chatBody,
  system: 'messages',
  toSettings: toChatSettings,
  toSystem: toChatSystem,
  publicField: (field, body) => chatField(field, { ...body, messages: null } as CreateChatBody, {}),
})

export const createPresetFromMessages = createPresetFrom({
  path: 'messages',
  id: 'presets.createFromMessages',
  body: messagesBody,
  system: 'system',
  toSettings: toMessagesSettings,
  toSystem: toMessagesSystem,
  publicField: (field, body) => messagesField(field, { ...body, messages: [] } as CreateMessageBody, {}),
})
