export default {
  id: 'greeter',
  setup({ tool }) {
    tool({
      name: 'greet',
      description: 'Greets somebody by name.',
      inputSchema: { type: 'object', properties: { name: { type: 'string' } }, required: ['name'] },
      execute: ({ name }) => `Hello, ${name}!`,
    })
  },
}
