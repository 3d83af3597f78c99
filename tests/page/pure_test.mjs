// The page's pure modules.
import assert from 'node:assert';
import test from 'node:test';
import {bytes, bytesOf, duration, hours, seconds} from '../../page/src/format.js';
import {momentsOf} from '../../page/src/moments.js';
import {devicesPerNode, ranksOf} from '../../page/src/ranks.js';
import {addSample, thinned} from '../../page/src/samples.js';
import {isOfLayout, measuredParts, predictedParts} from '../../page/src/step.js';
import {ordered} from '../../page/src/order.js';
import {routeOf} from '../../page/src/route.js';
import {runOf, tokenIn} from '../../page/src/run.js';
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
  assert.deepStrictEqual([0.004, 0.0312, 0.25, 9.994, 9.995, 99.96].map(seconds), ['4.00 ms', '31.2 ms', '250 ms', '9.99 s', '10.0 s', '100 s']);
  assert.deepStrictEqual([0.36, 99.4, 100, 12345.6].map(hours), ['0.4', '99.4', '100', '12,346']);
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
  jobs[0].job.deleteTime = '2026-01-03';
  assert.strictEqual(names('deleting', 'name'), 'b');
});

test('the time line tells of conditions, restarts and checkpoints in order', () => {
  const object = {status: {
    conditions: [{type: 'Failed', status: 'True', reason: 'RankFailed', lastTransitionTime: '2026-01-01T00:09:00Z'},
      {type: 'Complete', status: 'False', lastTransitionTime: '2026-01-01T00:09:00Z'}],
    checkpoints: [{step: 5, time: '2026-01-01T00:03:00Z'}, {step: 2, time: '2026-01-01T00:02:00Z'}]}};
  const samples = [{attempt: 1, step: 6, time: '2026-01-01T00:04:00Z'}, {attempt: 2, step: 6, time: '2026-01-01T00:05:00Z'}];
  assert.deepStrictEqual(momentsOf({createTime: '2026-01-01T00:00:00Z', object}, samples).map((one) => one.text),
    ['Created', 'Checkpoint of step 2', 'Checkpoint of step 5', 'Restart: attempt 2, by step 6', 'Failed · RankFailed']);
});

test('a separator of lines of Unicode is part of a text', () => {
  assert.deepStrictEqual([...sseParser()('data: {"a":"x\u2028y\u2029z"}\n\n')], [{type: 'message', data: '{"a":"x\u2028y\u2029z"}', id: null}]);
});

test('ranks go by tensor, then by copy of the model, then by stage', () => {
  const ranks = ranksOf({tensor: 2, pipeline: 2, data: 2}, 4);
  assert.deepStrictEqual(ranks.map(({node, stage, replica}) => `${node}${stage}${replica}`),
    ['000', '000', '001', '001', '110', '110', '111', '111']);
  assert.strictEqual(devicesPerNode({status: {plan: {document: '{"plan": {"devicesPerNode": 4}}'}}}), 4);
  assert.strictEqual(devicesPerNode({spec: {resources: {devicesPerNode: 2}}, status: {plan: {document: 'none'}}}), 2);
  assert.strictEqual(ranksOf({}, undefined)[0].node, undefined);
});

test('a step that is trained again replaces what came behind it', () => {
  const samples = [];
  for (const [attempt, step] of [[1, 1], [1, 2], [1, 3], [2, 2]]) addSample(samples, {attempt, step});
  assert.deepStrictEqual(samples, [{attempt: 1, step: 1}, {attempt: 2, step: 2}]);
  assert.deepStrictEqual(thinned([0, 1, 2, 3, 4, 5, 6, 7]), [0, 2, 4, 5, 6, 7]);
});

test('of steps long ago those that were evaluated are kept', () => {
  const samples = [1, 2, 3, 4, 5, 6, 7, 8].map((step) => (step % 4 === 2 ? {step, validationLoss: 2} : {step}));
  assert.deepStrictEqual(thinned(samples).map((one) => one.step), [2, 3, 5, 6, 7, 8]);
  const evaluated = samples.map((one) => ({...one, validationLoss: 2}));
  assert.deepStrictEqual(thinned(evaluated).map((one) => one.step), [1, 3, 5, 6, 7, 8]);
});

test('the parts of a step are shares of it, of the very layout', () => {
  const estimate = {report: {plan: {tensor: 2, pipeline: 1, data: 4}, candidates: [{stepParts: {compute: 3, idle: 0, optimizer: 1}}]}};
  assert.deepStrictEqual(predictedParts(estimate).map(({name, share}) => [name, share]), [['Compute', 0.75], ['Optimizer', 0.25]]);
  assert.deepStrictEqual(predictedParts(undefined), []);
  assert.ok(isOfLayout(estimate, {tensor: 2, data: 4}));
  assert.ok(!isOfLayout(estimate, {tensor: 4, data: 2}));
});

test('what ranks measured is the mean of the last steps that tell of it', () => {
  const samples = [...Array(20).keys()].map((step) => ({step, phaseSeconds: step < 4 ? {idle: 9} : {forward: 1, backward: 3, idle: 0}}));
  assert.deepStrictEqual(measuredParts(samples), [{name: 'Backward', seconds: 3, share: 0.75}, {name: 'Forward', seconds: 1, share: 0.25}]);
  assert.deepStrictEqual(measuredParts([{step: 1}]), []);
});

test('a run is known by the page, its token by the address', () => {
  const page = (content) => ({querySelector: () => ({content})});
  assert.strictEqual(runOf(page('namespaces/local/jobs/llama')), 'namespaces/local/jobs/llama');
  assert.strictEqual(runOf(page('')), '');
  assert.strictEqual(runOf(undefined), '');
  assert.strictEqual(tokenIn('#token=c0ffee'), 'c0ffee');
  for (const hash of ['', '#/', '#token=', '#token=c0ffee/', '#/namespaces/local/jobs/llama']) assert.strictEqual(tokenIn(hash), null);
});
