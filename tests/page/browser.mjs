// What the page's modules need of a browser, in Node: elements without a layout, plots that nobody draws, and a service that a
// test plays.
import {register} from 'node:module';

register(`data:text/javascript,${encodeURIComponent(`
  const empty = {url: 'data:text/javascript,', shortCircuit: true};
  const plot = {url: 'data:text/javascript,export default globalThis.Plot', shortCircuit: true};
  export const resolve = (name, context, next) => (name.endsWith('.css') ? empty : name === 'uplot' ? plot : next(name, context));
`)}`);

class Element extends EventTarget {
  children = [];
  dataset = {};

  append(...children) { this.children.push(...children); }
  replaceChildren(...children) { this.children = children; }
  setAttribute(name, value) { this[name] = value; }
  getAttribute(name) { return this[name]; }
  contains() { return false; }
  get value() { return this.given ?? this.children[0]?.value ?? ''; }  // of a select, its first option's
  set value(text) { this.given = text; }
  focus() { document.activeElement = this; }
  get firstChild() { return this.children[0]; }
  get rows() { return this.children; }
  get cells() { return this.children; }
  get textContent() { return this.children.map((one) => one.textContent ?? one).join(''); }
  set textContent(text) { this.children = [text]; }
  // All elements below that isSo() is true of.
  all(isSo) { return this.children.filter((one) => one instanceof Element).flatMap((one) => [...(isSo(one) ? [one] : []), ...one.all(isSo)]); }
}

globalThis.Plot = class {
  static all = [];
  constructor(options, data) { Object.assign(this, {options, data}); Plot.all.push(this); }
  setData(data) { this.data = data; }
  destroy() {}
};
const status = new Element();
const storage = new Map([['caravan.token', 'secret']]);
globalThis.document = Object.assign(new Element(), {
  hidden: false, createElement: (tag) => Object.assign(new Element(), {tag}), getElementById: () => status, querySelector: () => null});
globalThis.sessionStorage = {getItem: (key) => storage.get(key) ?? null, setItem: (key, value) => storage.set(key, value),
  removeItem: (key) => storage.delete(key)};
globalThis.ResizeObserver = class { observe() {} disconnect() {} };
globalThis.getComputedStyle = () => ({getPropertyValue: (name) => name});
globalThis.requestAnimationFrame = setImmediate;

export const newElement = () => new Element();
export const told = () => status.textContent;  // in the line at the head of the page
export const see = (isSeen) => { document.hidden = !isSeen; document.dispatchEvent(new Event('visibilitychange')); };
export const until = async (isSo) => { while (!isSo()) await new Promise((resolve) => { setImmediate(resolve); }); };
// Until all that can go on without a pause has gone on.
export const settled = async () => { for (let turns = 0; turns < 20; ++turns) await new Promise((resolve) => { setImmediate(resolve); }); };

// Pauses that are over when the test says so; the silence that ends a stream is none.
export function holdPauses() {
  let held = [];
  globalThis.setTimeout = (end, milliseconds) => {
    const timer = {end, milliseconds};
    if (milliseconds !== 45000) held.push(timer);
    return timer;
  };
  globalThis.clearTimeout = (timer) => { held = held.filter((one) => one !== timer); };
  const pass = async () => {
    held.splice(0).forEach(({end}) => end());
    await settled();
  };
  return {pauses: () => held.map((one) => one.milliseconds), pass};
}

// answer(path, options) of what is asked for from now on; the request ends with its signal.
export function serve(answer) {
  globalThis.fetch = (path, options = {}) => new Promise((resolve, reject) => {
    options.signal?.throwIfAborted();
    options.signal?.addEventListener('abort', () => reject(options.signal.reason));
    Promise.resolve(answer(path, options)).then(resolve, reject);
  });
}

export const refusal = (status, message, reason = '') => Response.json({message, details: [{reason}]}, {status});

// A response that lasts until signal is aborted, and tells what it is told to.
export function streamOf(signal) {
  let to;
  const body = new ReadableStream({start: (controller) => { to = controller; }});
  signal.addEventListener('abort', () => to.error(signal.reason));
  const response = new Response(body);
  return {response, tell: (message) => to.enqueue(new TextEncoder().encode(`id: 1\ndata: ${JSON.stringify(message)}\n\n`))};
}
