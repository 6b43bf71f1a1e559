import express from 'express'
import { FacadeRequest, FacadeResponse } from './http-server.ts'

Object.setPrototypeOf(FacadeRequest.prototype, express.request)
Object.setPrototypeOf(FacadeResponse.prototype, express.response)
// Express makes an object for each response that has none.
Object.defineProperty(FacadeResponse.prototype, 'locals', { value: Object.freeze({}) })

/**
 * The prototypes that an app of Express gives each request and response: those that our server makes them with. Otherwise it changes them,
 * and whatever is done with an object whose prototype was changed takes longer.
 */
export const expressMessages = { request: FacadeRequest.prototype, response: FacadeResponse.prototype }
