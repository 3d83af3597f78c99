// Calls of the job service with the token of whoever reads the page, which only this tab remembers.
import {inPlace, kNoPlace} from './places.js';
import {sseParser} from './sse.js';

const kToken = 'caravan.token';
export const signedIn = () => sessionStorage.getItem(kToken) !== null;
export const signIn = (token) => sessionStorage.setItem(kToken, token);
export const signOut = () => sessionStorage.removeItem(kToken);

// A google.rpc.Status; reason: of its ErrorInfo.
export class ApiError extends Error {
  constructor(status, http) {
    super(status.message ?? `the service answered ${http}`);
    this.http = http;
    this.reason = (status.details ?? []).find((detail) => detail.reason)?.reason ?? '';
    this.violations = (status.details ?? []).flatMap((detail) => detail.fieldViolations ?? []);
  }
}

let toldUnknown = () => {};
// call(error) from now on, whenever the service does not know, or no longer, whose token this is.
export const whenUnknown = (call) => { toldUnknown = call; };

function failed(status, http) {
  const error = new ApiError(status, http);
  if (http === 401 && error.reason !== 'TOKEN_AUDIENCE') toldUnknown(error);  // that one is good for reading
  return error;
}

// The service was not reached, or no longer.
export class ConnectionLost extends Error {}
let lostMeans = '';
// What that means, from now on, where it is known better than by the browser.
export const whenLost = (text) => { lostMeans = text; };
const lost = (error) => { throw new ConnectionLost(lostMeans || error.message); };

async function request(path, options = {}) {
  const response = await fetch(`/v1alpha1/${path}`, {
    ...options, cache: 'no-store', credentials: 'omit', redirect: 'error',
    headers: {...options.headers, Authorization: `Bearer ${sessionStorage.getItem(kToken) ?? ''}`},
  }).catch(lost);
  if (response.ok) return response;
  throw failed(await response.json().catch(() => ({})), response.status);
}

export const get = async (path, signal) => (await request(path, {signal})).json();

export async function post(path, body = {}, signal = undefined) {
  const response = await request(path, {
    signal, method: 'POST', headers: {'Content-Type': 'application/json'}, body: JSON.stringify(body)});
  return response.json();
}

export const pause = (milliseconds, signal) => new Promise((resolve) => {
  const end = () => {
    clearTimeout(timer);
    signal.removeEventListener('abort', end);
    resolve();
  };
  const timer = setTimeout(end, milliseconds);
  signal.addEventListener('abort', end);
});

const page = globalThis.document;
// Resolves when somebody can see the page, or signal is aborted: what goes on by itself is for those windows alone.
export const untilSeen = (signal) => new Promise((resolve) => {
  const wait = new AbortController();
  const look = () => {
    if (page?.hidden && !signal.aborted) return;
    wait.abort();
    resolve();
  };
  page?.addEventListener('visibilitychange', look, {signal: wait.signal});
  signal.addEventListener('abort', look, {signal: wait.signal});
  look();
});
// Aborted with signal, or alone.
function within(signal) {
  const part = new AbortController();
  if (signal.aborted) part.abort();
  signal.addEventListener('abort', () => part.abort(), {signal: part.signal});
  return part;
}
// Aborted with signal, and when nobody can see the page any more.
function whileSeen(signal) {
  const seen = within(signal);
  const look = () => { if (page?.hidden) seen.abort(); };
  page?.addEventListener('visibilitychange', look, {signal: seen.signal});
  look();
  return seen;
}

// Reads a stream while the page is seen and there is a place for it, until it ends or signal is aborted, and goes on behind the last
// id when the connection is lost. What onMessage() returns is awaited: the stream is not over before. onState(text): what stands in
// the way now, '' when nothing. onAnew(): all is told from the beginning. Throws what asking again does not mend.
export async function follow(path, {signal, onMessage, onState = () => {}, onAnew = () => {}}) {
  const at = {id: null, isTold: false, isOver: false};
  while (!at.isOver && !signal.aborted) {
    await untilSeen(signal);
    const seen = whileSeen(signal);
    try {
      await inPlace(seen.signal, () => onState(kNoPlace), () => readOn(path, at, {signal: seen.signal, onMessage, onState, onAnew}));
    } finally {
      seen.abort();
    }
  }
}

async function readOn(path, at, {signal, onMessage, onState, onAnew}) {
  for (let wait = 500; !signal.aborted; wait = Math.min(2 * wait, 15000)) {
    if (at.id === null && at.isTold) onAnew();
    const connection = within(signal);
    try {
      const headers = at.id === null ? {} : {'Last-Event-ID': at.id};
      const response = await unlessSilent(request(path, {signal: connection.signal, headers}));
      onState('');
      for await (const event of eventsOf(response)) {
        at.isOver = event.type === 'end';
        if (at.isOver) return;
        if (event.type === 'fault') throw faultOf(event.data);
        if (event.id !== null) at.id = event.id;
        wait = 500;
        at.isTold = true;
        await onMessage(JSON.parse(event.data));
      }
    } catch (error) {
      if (signal.aborted) return;
      if (kGone.includes(error.reason) && at.id !== null) at.id = null;
      else if (!mayPass(error)) throw error;
      onState(`not connected: ${error.message}`);
    } finally {
      connection.abort();  // it is free
    }
    await pause(wait, signal);
  }
}

const kGone = ['RESUME_TOKEN_TOO_OLD', 'LOG_GONE'];
// Whether asking again later may mend it.
export const mayPass = (error) => error instanceof ConnectionLost || error.http === 429 || error.http >= 500;
const kHttpOfCode = {4: 504, 8: 429, 13: 500, 14: 503, 16: 401};  // as the service answers where there is no stream

function faultOf(data) {
  const status = JSON.parse(data);
  return failed(status, kHttpOfCode[status.code] ?? 400);
}

const kSilence = 45000;  // milliseconds; the service says something every 15 s
// As it is told, unless that takes too long: a connection may be dead without anybody saying so.
function unlessSilent(told) {
  let timer;
  const silence = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error(`nothing was heard for ${kSilence / 1000} s`)), kSilence);
  }).catch(lost);
  return Promise.race([told, silence]).finally(() => clearTimeout(timer));
}

async function* eventsOf(response) {
  const feed = sseParser();
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  const next = () => unlessSilent(reader.read().catch(lost));
  for (let part = await next(); !part.done; part = await next()) yield* feed(part.value);
}
