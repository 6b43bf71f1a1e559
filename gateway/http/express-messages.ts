import express from 'express'
import { FacadeRequest, FacadeResponse } from './http-server.ts'

Object.setPrototypeOf(FacadeRequest.prototype, express.request)
Object.setPrototypeOf(FacadeResponse.prototype, express.response)
// Otherwise Express creates an object for each response.
Object.defineProperty(FacadeResponse.prototype, 'locals', { value: Object.freeze({}) })

/**
 * The prototypes that Express sets on each request and response. Our server creates the objects with them, since
 * objects whose prototype is changed later are slower to use.
 */
export const expressMessages = { request: FacadeRequest.prototype, response: FacadeResponse.prototype }
