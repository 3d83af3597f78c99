// How the page goes on with a stream, against a service that ends its answers as a script says.
import assert from 'node:assert';
import http from 'node:http';
import test from 'node:test';

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
  assert.deepStrictEqual(await told([message(1, 'a') + fault(8, 'SLOW_READER'), false], [kEnd, false]),
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
