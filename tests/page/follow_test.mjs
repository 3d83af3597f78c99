// How the page goes on with a stream, against a service that ends its answers as a script says, and how windows share places.
import assert from 'node:assert';
import http from 'node:http';
import test from 'node:test';

// As a browser's: a lock is one's at a time, and goes to who came first.
class Locks {
  held = new Set();
  waiting = [];

  async request(name, {ifAvailable, signal}, use) {
    signal?.throwIfAborted();
    if (this.held.has(name) && ifAvailable) return use(null);
    if (this.held.has(name)) await this.turn(name, signal);
    this.held.add(name);
    try {
      return await use({name});
    } finally {
      const next = this.waiting.find((one) => one.name === name);
      if (next) next.begin(); else this.held.delete(name);
    }
  }

  turn(name, signal) {
    return new Promise((resolve, reject) => {
      const leave = () => { this.waiting = this.waiting.filter((one) => one !== waits); };
      const waits = {name, begin: () => { leave(); resolve(); }};
      this.waiting.push(waits);
      signal.addEventListener('abort', () => { leave(); reject(signal.reason); });
    });
  }
}

const locks = new Locks();
Object.defineProperty(globalThis, 'navigator', {value: {locks}});
globalThis.document = Object.assign(new EventTarget(), {hidden: false});
globalThis.sessionStorage = {getItem: () => 'secret', setItem() {}, removeItem() {}};
const {follow} = await import('../../page/src/api.js');

const message = (id, text) => `id: ${id}\ndata: {"text": "${text}"}\n\n`;
const fault = (code, reason) => `event: fault\ndata: {"code": ${code}, "message": "no", "details": [{"reason": "${reason}"}]}\n\n`;
const kEnd = 'event: end\ndata: {}\n\n';

// What the reader hears, and the ids it comes with, when each answer is of these; true: the connection is lost behind it.
async function told(...answers) {
  const story = [];
  const server = http.createServer((request, response) => {
    const [text, isLost] = answers.shift();
    story.push(`asked behind ${request.headers['last-event-id'] ?? 'nothing'}`);
    response.writeHead(200, {'Content-Type': 'text/event-stream'});
    response.write(text, () => (isLost ? response.destroy() : response.end()));
  });
  await new Promise((resolve) => { server.listen(0, '127.0.0.1', resolve); });
  const ask = globalThis.fetch;
  globalThis.fetch = (path, options) => ask(`http://127.0.0.1:${server.address().port}${path}`, options);
  try {
    await follow('stream', {signal: new AbortController().signal, onMessage: ({text}) => story.push(text),
      onAnew: () => story.push('anew')});
    story.push('end');
  } catch (error) {
    story.push(`failed: ${error.reason ?? error.message}`);
  } finally {
    globalThis.fetch = ask;
    server.closeAllConnections();
    server.close();
  }
  return story;
}

test('a stream whose connection is lost goes on behind what was read', async () => {
  assert.deepStrictEqual(await told([message(1, 'a'), true], [message(2, 'b') + kEnd, false]),
    ['asked behind nothing', 'a', 'asked behind 1', 'b', 'end']);
});

test('a stream whose place is gone begins anew', async () => {
  for (const reason of ['RESUME_TOKEN_TOO_OLD', 'LOG_GONE'])
    assert.deepStrictEqual(await told([message(1, 'a') + fault(11, reason), false], [message(9, 'c') + kEnd, false]),
      ['asked behind nothing', 'a', 'anew', 'asked behind nothing', 'c', 'end']);
});

test('a stream that is refused ends, and one that is refused for now goes on', async () => {
  assert.deepStrictEqual(await told([fault(7, 'FORBIDDEN'), false]), ['asked behind nothing', 'failed: FORBIDDEN']);
  assert.deepStrictEqual(await told([message(1, 'a') + fault(8, 'BUSY'), false], [kEnd, false]),
    ['asked behind nothing', 'a', 'asked behind 1', 'end']);
});

test('a stream is not over before what came with it was dealt with', async () => {
  const story = [];
  const ask = globalThis.fetch;
  globalThis.fetch = async () => new Response(message(1, 'a') + kEnd);
  await follow('stream', {signal: new AbortController().signal, onMessage: async ({text}) => {
    await new Promise((resolve) => { setImmediate(resolve); });
    story.push(text);
  }});
  globalThis.fetch = ask;
  assert.deepStrictEqual(story, ['a']);
});

test('a mistake of the page is none of the connection', async () => {
  const server = [['id: 1\ndata: no JSON\n\n', false]];
  assert.match((await told(...server)).at(-1), /^failed: .*JSON/);
});

const until = async (isSo) => { while (!isSo()) await new Promise((resolve) => { setImmediate(resolve); }); };

// So many windows that follow streams which last, and their stories; streams: what is read now, asked: behind what each began.
function windows(count) {
  const ask = globalThis.fetch;
  const streams = [];
  const asked = [];
  globalThis.fetch = async (path, {signal, headers}) => {
    const stream = {};
    asked.push(headers['Last-Event-ID'] ?? 'nothing');
    const leave = () => { streams.splice(streams.indexOf(stream), 1); };
    const body = new ReadableStream({start: (to) => {
      stream.tell = (text) => to.enqueue(new TextEncoder().encode(text));
      signal.addEventListener('abort', () => { if (streams.includes(stream)) { leave(); to.error(signal.reason); } });
    }, cancel: leave});
    streams.push(stream);
    return new Response(body);
  };
  const stories = Array.from({length: count}, () => []);
  const ends = stories.map((story) => follow('stream', {signal: new AbortController().signal,
    onMessage: ({text}) => story.push(text), onState: (text) => story.push(text)}));
  const end = async () => {
    let areOver = false;
    Promise.all(ends).then(() => { areOver = true; });
    await until(() => { streams.forEach((stream) => stream.tell(kEnd)); return areOver; });
    globalThis.fetch = ask;
  };
  return {streams, asked, stories, end};
}

const see = (isSeen) => { document.hidden = !isSeen; document.dispatchEvent(new Event('visibilitychange')); };
const isWaiting = (story) => /^waiting: /.test(story.at(-1));

test('all windows together read four streams, and one that waits says so until it is its turn', async () => {
  const {streams, stories, end} = windows(6);
  await until(() => stories.filter(isWaiting).length === 2);
  assert.strictEqual(streams.length, 4);
  streams[0].tell(kEnd);
  await until(() => stories.filter(isWaiting).length === 1);
  assert.strictEqual(streams.length, 4);
  assert.deepStrictEqual(stories[4].slice(1), ['']);
  await end();
  assert.strictEqual(locks.held.size + locks.waiting.length, 0);
});

test('a window that nobody sees has no place, and goes on where it was when it is seen', async () => {
  const {streams, asked, stories, end} = windows(5);
  await until(() => isWaiting(stories[4]));
  streams[0].tell(message(7, 'a'));
  await until(() => stories[0].includes('a'));
  see(false);
  await until(() => locks.held.size + locks.waiting.length === 0);
  assert.strictEqual(streams.length, 0);
  see(true);
  await end();
  assert.deepStrictEqual(asked.slice(4).sort(), ['7', 'nothing', 'nothing', 'nothing', 'nothing']);
});

// Timers that end when the test says so. waited: the one that runs; pass: it is over.
function heldTimers(context) {
  const held = new Map();  // milliseconds and what is done then, by timer
  context.mock.method(globalThis, 'setTimeout', (end, milliseconds) => {
    const timer = {};
    held.set(timer, {end, milliseconds});
    return timer;
  });
  context.mock.method(globalThis, 'clearTimeout', (timer) => held.delete(timer));
  const waited = async () => { await until(() => held.size > 0); return held.keys().next().value; };
  const pass = async () => { held.get(await waited()).end(); };
  return {held, waited, pass};
}

test('a stream of which nothing is heard any more goes on over another connection', async (context) => {
  const {held, waited, pass} = heldTimers(context);
  const {streams, asked, stories: [story], end} = windows(1);
  await until(() => streams.length === 1);
  for (const heard of [message(7, 'a'), ':\n\n']) {
    const timer = await waited();
    assert.strictEqual(held.get(timer).milliseconds, 45000);
    streams[0].tell(heard);
    await until(() => held.size === 1 && !held.has(timer));
  }
  await pass();
  await until(() => story.length > 2);
  assert.deepStrictEqual(story, ['', 'a', 'not connected: nothing was heard for 45 s']);
  assert.strictEqual(streams.length, 0, 'its connection is free');
  await pass();
  await until(() => asked.length === 2);
  assert.deepStrictEqual(asked, ['nothing', '7']);
  await end();
});

test('a stream whose answer does not begin is asked for over another connection', async (context) => {
  const {held, pass} = heldTimers(context);
  const signals = [];
  context.mock.method(globalThis, 'fetch', (_, {signal}) => new Promise((resolve, reject) => {
    signals.push(signal);
    signal.addEventListener('abort', () => reject(signal.reason));
    if (signals.length === 2) resolve(new Response(kEnd));
  }));
  const story = [];
  const over = follow('stream', {signal: new AbortController().signal, onMessage() {}, onState: (text) => story.push(text)});
  await pass();
  await until(() => story.length === 1);
  await pass();
  await over;
  assert.deepStrictEqual(story, ['not connected: nothing was heard for 45 s', '']);
  assert.ok(signals[0].aborted, 'its connection is free');
  assert.strictEqual(held.size, 0);
});

test('where a browser has no locks, streams are read at once', async () => {
  navigator.locks = undefined;
  const {streams, end} = windows(5);
  await until(() => streams.length === 5);
  await end();
  navigator.locks = locks;
});
