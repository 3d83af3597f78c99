// The page's pure modules.
import assert from 'node:assert';
import test from 'node:test';
import {bytes, bytesOf, duration} from '../../page/src/format.js';
import {momentsOf} from '../../page/src/moments.js';
import {ordered} from '../../page/src/order.js';
import {routeOf} from '../../page/src/route.js';
import {sseParser} from '../../page/src/sse.js';
import {yamlOf} from '../../page/src/yaml.js';

test('events come whole, however their text is cut', () => {
  const text = ': alive\n\ndata: {"a":1}\nid: 7\n\nevent: end\ndata: {}\n\n';
  const wanted = [{type: 'message', data: '{"a":1}', id: '7'}, {type: 'end', data: '{}', id: null}];
  for (let cut = 0; cut <= text.length; ++cut) {
    const feed = sseParser();
    assert.deepStrictEqual([...feed(text.slice(0, cut)), ...feed(text.slice(cut))], wanted);
  }
});

test('YAML quotes what would be read as something else', () => {
  assert.strictEqual(yamlOf({name: 'train', on: 'true', empty: {}, list: [{a: 1, b: 'x: y'}, 'z'], text: 'a\nb'}),
    'name: train\n"on": "true"\nempty: {}\nlist:\n  - a: 1\n    b: "x: y"\n  - z\ntext: "a\\nb"\n');
});

test('quantities and times are told in their units', () => {
  assert.strictEqual(bytesOf('1.5Gi'), 1.5 * 2 ** 30);
  assert.ok(Number.isNaN(bytesOf('much')));
  assert.strictEqual(bytes(3 * 2 ** 30), '3.0 GiB');
  assert.deepStrictEqual([59, 61, 3700, 90000].map(duration), ['59 s', '1 min 1 s', '1 h 1 min', '1 d 1 h']);
});

test('addresses that are none lead nowhere', () => {
  assert.deepStrictEqual(routeOf('#/namespaces/nlp/jobs/a'), {view: 'job', namespace: 'nlp', name: 'namespaces/nlp/jobs/a'});
  assert.deepStrictEqual(routeOf('#/namespaces/-/jobs'), {view: 'jobs', namespace: '-'});
  for (const bad of ['', '#/', '#/namespaces/a/b', '#/namespaces/a/jobs/../x', '#/namespaces/a/estimate/b', '#/namespaces/a%2f/jobs'])
    assert.strictEqual(routeOf(bad), null, bad);
});

test('jobs are filtered by name and state, and equals ordered by name', () => {
  const job = (name, state, createTime) => ({job: {name: `namespaces/n/jobs/${name}`, createTime, object: {status: {state}}}});
  const jobs = [job('b', 'Running', '2026-01-01'), job('a', 'Running', '2026-01-01'), job('c', 'Failed', '2026-01-02')];
  const names = (filter, order) => ordered(jobs, filter, order).map((one) => one.job.name.at(-1)).join('');
  assert.strictEqual(names('', 'newest'), 'cab');
  assert.strictEqual(names('', 'state'), 'cab');
  assert.strictEqual(names('run', 'name'), 'ab');
});

test('the time line tells of conditions, restarts and the last checkpoint in order', () => {
  const object = {status: {
    conditions: [{type: 'Failed', status: 'True', reason: 'RankFailed', lastTransitionTime: '2026-01-01T00:09:00Z'},
      {type: 'Complete', status: 'False', lastTransitionTime: '2026-01-01T00:09:00Z'}],
    lastCheckpoint: {step: 5, time: '2026-01-01T00:03:00Z'}}};
  const samples = [{attempt: 1, step: 6, time: '2026-01-01T00:04:00Z'}, {attempt: 2, step: 6, time: '2026-01-01T00:05:00Z'}];
  assert.deepStrictEqual(momentsOf({createTime: '2026-01-01T00:00:00Z', object}, samples).map((one) => one.text),
    ['Created', 'Checkpoint of step 5', 'Restart: attempt 2 from step 6', 'Failed · RankFailed']);
});
