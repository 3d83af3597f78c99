// The views of the page, with a service that the test plays.
import assert from 'node:assert';
import test from 'node:test';
import {holdPauses, newElement, see, serve, settled, streamOf, told, until} from './browser.mjs';
const {cellsOf} = await import('../../page/src/estimate.js');
const {showJob} = await import('../../page/src/job.js');
const {showJobs} = await import('../../page/src/jobs.js');
const {showSignIn} = await import('../../page/src/sign_in.js');
const {signOut} = await import('../../page/src/api.js');

const kName = 'namespaces/nlp/jobs/llama';
const kJob = {name: kName, uid: 'u1', createTime: '2026-01-01T00:00:00Z', object: {metadata: {name: 'llama'}, status: {state: 'Running'}}};
const texts = (element, tag) => element.all((one) => one.tag === tag).map((one) => one.textContent);

// A page of that job: main, its element, and watch and metrics, the streams that it reads now.
function openJob() {
  const {pass} = holdPauses();
  const page = {main: newElement(), asked: [], pass, leave: new AbortController()};
  const stream = (name, signal) => { page[name] = streamOf(signal); return page[name].response; };
  serve((path, {signal}) => {
    page.asked.push(path);
    if (path.includes(':watch')) return stream('watch', signal);
    if (path.includes('/metrics')) return stream('metrics', signal);
    if (path.includes('/logs')) return stream('logs', signal);
    return Response.json(path.includes('/events') ? {} : kJob);
  });
  showJob(page.main, kName, page.leave.signal);
  return page;
}

test('a job that is deleted is told to be gone, also to who looks away in between', async () => {
  const page = openJob();
  await until(() => page.watch && page.metrics);
  page.watch.tell({kind: 'Changed', job: kJob});
  page.watch.tell({kind: 'Complete'});
  await settled();
  const buttons = () => page.main.all((one) => ['Suspend', 'Cancel job'].includes(one.textContent) && one.tag === 'button').slice(0, 2);
  assert.strictEqual(texts(page.main, 'dd')[0], 'Running');
  assert.deepStrictEqual(buttons().map((one) => Boolean(one.disabled)), [false, false]);
  page.watch.tell({kind: 'Gone', job: {name: kName, uid: 'u1'}});
  for (const look of [() => {}, () => see(false), () => see(true)]) {
    look();
    await settled();
    assert.strictEqual(told(), 'llama is gone');
    assert.strictEqual(texts(page.main, 'dd')[0], 'Deleted');
    assert.deepStrictEqual(buttons().map((one) => Boolean(one.disabled)), [true, true]);
  }
  page.leave.abort();
});

test('the events of a job that is gone are read once more, a while behind its end', async () => {
  const page = openJob();
  await until(() => page.watch);
  page.watch.tell({kind: 'Gone', job: {name: kName, uid: 'u1'}});
  await settled();
  const reads = () => page.asked.filter((path) => path.includes('/events')).length;
  assert.strictEqual(reads(), 1);
  await page.pass();
  await page.pass();
  await page.pass();
  assert.strictEqual(reads(), 3, 'the first may have come right behind the end');
  page.leave.abort();
});

test('a job that a replica had not heard of yet is gone no more', async () => {
  const page = openJob();
  await until(() => page.watch);
  page.watch.tell({kind: 'Complete'});
  await settled();
  assert.strictEqual(told(), 'llama is gone');
  page.watch.tell({kind: 'Changed', job: kJob});
  await settled();
  assert.strictEqual(told(), '');
  assert.strictEqual(texts(page.main, 'dd')[0], 'Running');
  page.leave.abort();
});

test('a loss curve has the validation loss of the steps that were evaluated', async () => {
  Plot.all = [];
  const page = openJob();
  await until(() => page.metrics);
  page.metrics.tell({samples: [{attempt: 1, step: 1, loss: 3}, {attempt: 1, step: 2, loss: 2.5, validationLoss: 2.75}, {attempt: 1, step: 3, loss: 2}]});
  await until(() => Plot.all.length > 0);
  const [{options, data}] = Plot.all;
  assert.deepStrictEqual(data, [[1, 2, 3], [3, 2.5, 2], [null, 2.75, null]]);
  assert.deepStrictEqual(options.series.map(({label, spanGaps}) => [label, spanGaps]),
    [['step', undefined], ['Loss', false], ['Validation loss', true]]);
  assert.strictEqual(page.main.all((one) => one.class === 'curve')[0]['aria-label'], 'Loss: 2.0000 at step 3; Validation loss: 2.7500 at step 2');
  page.leave.abort();
});

test('jobs grow older while nothing changes', async (context) => {
  const main = newElement();
  const leave = new AbortController();
  let watch;
  serve((_, {signal}) => { watch = streamOf(signal); return watch.response; });
  let now = Date.parse(kJob.createTime) + 59000;
  context.mock.method(Date, 'now', () => now);
  showJobs(main, 'nlp', leave.signal);
  await until(() => watch);
  watch.tell({kind: 'Changed', job: kJob});
  await settled();
  assert.strictEqual(texts(main, 'td').at(-1), '59 s');
  now += 15000;
  watch.tell({kind: 'Heartbeat'});
  await settled();
  assert.strictEqual(texts(main, 'td').at(-1), '1 min 14 s');
  leave.abort();
});

test('many jobs are drawn once a second, and at once for whoever filters them', async (context) => {
  context.mock.method(performance, 'now', () => 0);
  const main = newElement();
  const leave = new AbortController();
  const {pauses, pass} = holdPauses();
  let watch;
  serve((_, {signal}) => { watch = streamOf(signal); return watch.response; });
  showJobs(main, 'nlp', leave.signal);
  await until(() => watch);
  const tell = (number, state) => watch.tell({kind: 'Changed', job: {...kJob, name: `namespaces/nlp/jobs/job-${number}`, object: {status: {state}}}});
  for (let number = 0; number <= 300; ++number) tell(number, 'Running');
  await settled();
  await pass();
  const states = () => texts(main, 'td').filter((_, at) => at % 7 === 1);
  assert.strictEqual(states().length, 301);
  tell(7, 'Failed');
  await settled();
  assert.ok(!states().includes('Failed'));
  await pass();
  assert.ok(states().includes('Failed'));
  const filter = main.all((one) => one.tag === 'input')[0];
  filter.value = 'failed';
  filter.dispatchEvent(new Event('input'));
  await settled();
  assert.deepStrictEqual(states(), ['Failed']);
  for (const number of [8, 9]) {
    tell(number, 'Failed');
    await settled();
    assert.deepStrictEqual(pauses(), [1000]);
    filter.dispatchEvent(new Event('input'));
    await settled();
    assert.deepStrictEqual(pauses(), []);
  }
  leave.abort();
});

test('an estimate tells its time and cost with the digits that count', () => {
  const cells = cellsOf({devices: 8, fits: true, trainingSeconds: 40, deviceHours: 0.0889,
    report: {plan: {tensor: 1, pipeline: 1, data: 8, stepSeconds: 0.004, mfu: 0.4}}});
  assert.deepStrictEqual(cells, ['8', 'yes', 'TP1 PP1 DP8', '', '4.00 ms', '40.0 %', '40 s', '0.1', '', '']);
  assert.deepStrictEqual(cellsOf({devices: 8, fits: false, reason: 'too large'}), ['8', 'no', '', '', '', '', '', '', '', 'too large']);
});

test('who is known is asked for a namespace alone, who is not for a token too', () => {
  const main = newElement();
  const entered = [];
  const ids = () => main.all((one) => one.tag === 'input').map((one) => one.id);
  const submit = () => main.children[0].dispatchEvent(new Event('submit'));
  const ask = () => showSignIn(main, {namespace: 'nlp', onEnter: (namespace) => entered.push([namespace, sessionStorage.getItem('caravan.token')])});
  ask();
  assert.deepStrictEqual(ids(), ['namespace']);
  submit();
  signOut();
  ask();
  assert.deepStrictEqual(ids(), ['namespace', 'token']);
  assert.match(main.textContent, /to see events and logs and to change jobs, for the API server too/);
  main.all((one) => one.id === 'token')[0].value = ' fresh ';
  submit();
  assert.deepStrictEqual(entered, [['nlp', 'secret'], ['nlp', 'fresh']]);
});
