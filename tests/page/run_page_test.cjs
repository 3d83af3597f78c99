// The page of a run in headless Chromium, against the run that tests/e2e/page_test.cc started, which is in its third
// attempt and never ends by itself:
//   run_page_test.cjs SETTING.json, with url (as the run printed it) and pid
// Ends the run. SCREENSHOTS=FOLDER keeps pictures.
'use strict';
const assert = require('node:assert');
const {readFileSync} = require('node:fs');
const {Browser} = require('./chromium.cjs');

const setting = JSON.parse(readFileSync(process.argv[2]));
const [base, token] = setting.url.split('/#token=');

const picture = async (tab, name) => {
  if (process.env.SCREENSHOTS) await tab.screenshot(`${process.env.SCREENSHOTS}/run-${name}.png`);
};
const stepOfLoss = "Number(/at step (\\d+)$/.exec(document.querySelector('.curve')?.getAttribute('aria-label'))?.[1])";

async function showsTheRun(tab) {
  await tab.until(`${stepOfLoss} > 0`);
  await tab.until("document.querySelector('.curve canvas')");
  const step = await tab.evaluate(stepOfLoss);
  await tab.until(`${stepOfLoss} > ${step}`);
  await tab.untilText('Restart: attempt 2');
  await tab.untilText('Restart: attempt 3');
  await tab.untilText('Checkpoint of step');
  await tab.until("document.querySelector('[aria-label=\"Step, measured\"] meter[aria-label=Backward]')?.value > 0");
  await tab.until("/RankFailed .Rank/.test(document.querySelector('.events')?.innerText)");
  await tab.until("/PodLost/.test(document.querySelector('.events').innerText)");
  await tab.until("/agent-0: step/.test(document.querySelector('.log').innerText)");
  await tab.until("document.querySelectorAll('.ranks button').length === 2");
  await picture(tab, 'job');
}

// Only what a run does is there, and the token is where nobody looks.
async function offersNothingElse(tab) {
  assert.strictEqual(await tab.evaluate("location.hash"), '#/namespaces/local/jobs/' + (await tab.evaluate("document.querySelector('h1').textContent")));
  assert.ok(!(await tab.evaluate('location.href + document.body.innerHTML + document.cookie')).includes(token));
  for (const word of ['Suspend', 'Cancel job', 'Sign out', 'Estimate'])
    assert.ok(!(await tab.evaluate('document.body.innerText')).includes(word), word);
}

async function isClosedWithoutTheToken(browser) {
  const tab = await browser.open(base);
  await tab.untilText('Open this page by the whole address');
  assert.strictEqual(await tab.evaluate("document.querySelectorAll('.curve').length"), 0);
}

async function fitsAPhone(browser) {
  const tab = await browser.open(setting.url, 375, 800);
  await tab.until("document.querySelector('.curve canvas')");
  await picture(tab, 'phone');
  assert.ok(await tab.evaluate('document.documentElement.scrollWidth <= 375'), 'wider than a phone');
}

async function showsTheEnd(tab) {
  process.kill(setting.pid, 'SIGINT');
  await tab.untilText('The run is over.');
  await tab.until("document.querySelector('.tiles dd').textContent === 'Interrupted'");
  await tab.until("/StoppedByUser/.test(document.querySelector('.events').innerText)");
  assert.ok(await tab.evaluate(`${stepOfLoss} > 0`));
  assert.ok(!(await tab.evaluate("document.querySelector('.tiles').innerText")).match(/Remaining\s+\d/), 'time remains after the end');
  assert.strictEqual(await tab.evaluate("document.querySelectorAll('.failure').length"), 0);
  await picture(tab, 'over');
}

async function main() {
  process.exitCode = 1;  // until all has been seen
  const browser = new Browser();
  try {
    const tab = await browser.open(setting.url);
    await showsTheRun(tab);
    await offersNothingElse(tab);
    await isClosedWithoutTheToken(browser);
    await fitsAPhone(browser);
    await showsTheEnd(tab);
    assert.deepStrictEqual(tab.complaints, []);
    console.log('ok');
    process.exitCode = 0;
  } catch (error) {
    console.log(`FAILED: ${error.stack}`);
    process.kill(setting.pid, 'SIGINT');
  } finally {
    await browser.close();
  }
}

main();
