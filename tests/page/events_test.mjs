// The events of a job, from a service that answers as a script says.
import assert from 'node:assert';
import test from 'node:test';
import {holdPauses, refusal, see, serve, settled} from './browser.mjs';
const {Events} = await import('../../page/src/events.js');

const kStarted = {events: [{time: '2026-01-01T00:00:00Z', type: 'Normal', reason: 'Started', about: 'Pod/a', message: 'it did'}]};
const kLost = new TypeError('no connection');

// Events that are kept of a service with these answers; asked: how often it was; pass: the next pause is over.
function kept(...answers) {
  const {pauses, pass} = holdPauses();
  const job = {hasEnded: false, isOver: false, asked: 0, pauses, pass};
  serve(() => {
    ++job.asked;
    const answer = answers.shift() ?? Response.json(kStarted);
    return answer === kLost ? Promise.reject(answer) : answer;
  });
  job.events = new Events('namespaces/nlp/jobs/llama', new AbortController().signal);
  job.events.keep(() => job.hasEnded).then(() => { job.isOver = true; });
  return job;
}

test('a failure that passes gives way to the same events as before it', async () => {
  const job = kept(Response.json(kStarted), refusal(429, 'busy'), Response.json(kStarted));
  const told = [];
  for (let time = 0; time < 3; ++time) {
    await job.pass();
    told.push(/Started|busy/.exec(job.events.list.textContent)?.[0]);
  }
  assert.deepStrictEqual(told, ['Started', 'busy', 'Started']);
});

test('what was told stands while there is no connection', async () => {
  const job = kept(Response.json(kStarted), kLost);
  await job.pass();
  await job.pass();
  assert.match(job.events.list.textContent, /Started/);
  assert.ok(!job.isOver);
});

test('events are read while somebody sees them', async () => {
  const job = kept();
  await job.pass();
  see(false);
  await job.pass();
  await job.pass();
  assert.strictEqual(job.asked, 1);
  see(true);
  await settled();
  assert.strictEqual(job.asked, 2);
});

test('the longer events take, refused or not, the seldomer they are read', async (context) => {
  const took = [10, 2000, 1000, 60000];
  let now = 0;
  context.mock.method(performance, 'now', () => now);
  const job = kept(Response.json(kStarted), Response.json(kStarted), refusal(503, 'away'), refusal(503, 'away'));
  const answer = globalThis.fetch;
  globalThis.fetch = (...asked) => { now += took.shift(); return answer(...asked); };
  for (const wait of [15000, 15000, 40000, 20000, 300000]) {
    assert.deepStrictEqual(job.pauses(), [wait]);
    await job.pass();
  }
});

test('events are read once behind the end of the job, and no more', async () => {
  const job = kept(Response.json(kStarted), refusal(503, 'away'), Response.json(kStarted));
  await job.pass();
  job.hasEnded = true;
  await job.pass();
  assert.ok(!job.isOver, 'a failure is none of the last');
  await job.pass();
  assert.ok(job.isOver);
  assert.strictEqual(job.asked, 3);
});

test('events that are refused are not asked for again', async () => {
  const job = kept(refusal(401, 'the token is not for the API server', 'TOKEN_AUDIENCE'));
  await job.pass();
  await job.pass();
  assert.ok(job.isOver);
  assert.strictEqual(job.asked, 1);
  assert.match(job.events.list.textContent, /not for the API server/);
});
