// The page in headless Chromium, against the service that tests/service/page_test.cc started:
//   page_test.cjs SETTING.json, with url, namespace, editor and stranger (tokens), jobs (how many there are)
// The job `hostile` has markup wherever somebody can write a text. SCREENSHOTS=FOLDER keeps pictures.
'use strict';
const assert = require('node:assert');
const {readFileSync} = require('node:fs');
const {Browser} = require('./chromium.cjs');

const setting = JSON.parse(readFileSync(process.argv[2]));
const address = (view) => `${setting.url}/#/namespaces/${setting.namespace}/${view}`;

async function signIn(tab, token) {
  await tab.untilText('Sign in');
  await tab.until("document.activeElement.id === 'token'");
  await tab.type(token);
  await tab.press('Enter');
}

const picture = async (tab, name) => {
  if (process.env.SCREENSHOTS) await tab.screenshot(`${process.env.SCREENSHOTS}/${name}.png`);
};
const noComplaints = (tab) => assert.deepStrictEqual(tab.complaints, []);

const tests = {
  async 'all jobs are shown, and filtered'(browser) {
    const tab = await browser.open(address('jobs'));
    await signIn(tab, setting.editor);
    await tab.untilText(`${setting.jobs} of ${setting.jobs} jobs`);
    await picture(tab, 'jobs');
    await tab.evaluate("document.querySelector('input[type=search]').focus()");
    await tab.type('hostile');
    await tab.untilText(`1 of ${setting.jobs} jobs`);
    assert.strictEqual(await tab.evaluate("document.querySelectorAll('tbody tr').length"), 1);
    noComplaints(tab);
  },

  async 'a job is shown, and what others wrote stays text'(browser) {
    const tab = await browser.open(address('jobs/hostile'));
    await signIn(tab, setting.editor);
    await tab.until("/^Loss: 2.5000 at step 3$/.test(document.querySelector('.curve')?.getAttribute('aria-label'))");
    await tab.until("document.querySelector('.curve canvas')");
    await tab.untilText('<img src=x onerror');
    await tab.untilText('Restart: attempt 2, by step 3');
    await picture(tab, 'job');
    assert.strictEqual(await tab.evaluate("document.querySelectorAll('img, iframe, object').length"), 0);
    assert.strictEqual(await tab.evaluate('window.owned'), undefined);
    assert.strictEqual(await tab.evaluate("Object.keys(localStorage).length + (location.href + document.cookie).includes('eyJ')"), 0);
    noComplaints(tab);
  },

  async 'who has no right is told so'(browser) {
    const tab = await browser.open(address('jobs'));
    await signIn(tab, setting.stranger);
    await tab.until("document.querySelector('[role=alert]')");
    assert.strictEqual(await tab.evaluate("document.querySelectorAll('tbody tr').length"), 0);
    await picture(tab, 'stranger');
    noComplaints(tab);
  },

  async 'who is unknown is asked again'(browser) {
    const tab = await browser.open(address('jobs'));
    await signIn(tab, 'garbage');
    await tab.until("document.querySelector('form [role=alert]')");
    assert.strictEqual(await tab.evaluate('sessionStorage.length'), 0);
  },

  async 'who is known may look at another namespace without a token again'(browser) {
    const tab = await browser.open(address('jobs'));
    await signIn(tab, setting.editor);
    await tab.untilText(`of ${setting.jobs} jobs`);
    await tab.evaluate("document.querySelector('.brand').click()");
    await tab.until("document.activeElement.id === 'namespace'");
    assert.strictEqual(await tab.evaluate("document.querySelectorAll('#token').length"), 0);
    await tab.evaluate("document.activeElement.value = ''");
    await tab.type(setting.namespace);
    await tab.press('Enter');
    await tab.untilText(`of ${setting.jobs} jobs`);
    noComplaints(tab);
  },

  async 'a page whose program is not there says so, until it is'(browser) {
    const tab = await browser.open('about:blank');
    await tab.send('Network.enable');
    await tab.send('Network.setBlockedURLs', {urls: ['*/page/*']});  // as those of a newer replica
    await tab.send('Page.navigate', {url: address('jobs')});
    await tab.untilText('not there yet. If this stays, reload the page.');
    await tab.send('Network.setBlockedURLs', {urls: []});
    await tab.send('Page.reload');
    await tab.untilText('Sign in');
    assert.ok(!await tab.evaluate("document.body.innerText.includes('not there yet')"));
    noComplaints(tab);
  },

  async 'a phone has no need to scroll sideways'(browser) {
    for (const view of ['jobs', 'jobs/hostile', 'estimate']) {
      const tab = await browser.open(address(view), 375, 800);
      await signIn(tab, setting.editor);
      await tab.until("document.querySelector('main h1')?.textContent !== 'Sign in'");
      if (view === 'jobs') await tab.untilText(`of ${setting.jobs} jobs`);
      if (view === 'jobs/hostile') await tab.until("document.querySelector('.curve canvas')");
      await picture(tab, `phone-${view.replace('/', '-')}`);
      assert.ok(await tab.evaluate('document.documentElement.scrollWidth <= 375'), `${view} is wider than a phone`);
    }
  },

  async 'a job is estimated'(browser) {
    const tab = await browser.open(address('estimate'));
    await signIn(tab, setting.editor);
    await tab.until("document.querySelector('#devices')");
    await tab.evaluate("document.querySelector('#devices').focus()");
    await tab.type('64, 128');
    await tab.press('Enter');
    await tab.until("document.querySelectorAll('tbody tr').length === 2");
    await picture(tab, 'estimate');
    noComplaints(tab);
  },

  async 'windows leave each other connections'(browser) {
    const {browserContextId} = await browser.send('Target.createBrowserContext');
    let last;
    for (let count = 0; count < 3; ++count) {
      last = await browser.openIn(browserContextId, address('jobs/train-2'));
      await signIn(last, setting.editor);
      await last.untilText('Suspend');
    }
    await last.untilText('waiting: other windows read');
    await picture(last, 'waiting');
    await last.evaluate("[...document.querySelectorAll('button')].find((one) => one.textContent === 'Suspend').click()");
    await last.untilText('suspend asked for');
    noComplaints(last);
  },

  async 'a keyboard is enough to suspend a job and to cancel it'(browser) {
    const tab = await browser.open(address('jobs'));
    await signIn(tab, setting.editor);
    await tab.untilText(`of ${setting.jobs} jobs`);
    await tab.tabTo("e.type === 'search'");
    await tab.type('keyboard');
    await tab.untilText(`1 of ${setting.jobs} jobs`);
    await tab.tabTo("e.textContent === 'keyboard'");
    await tab.press('Enter');
    await tab.untilText('Suspend');
    await tab.tabTo("e.textContent === 'Suspend'");
    assert.notStrictEqual(await tab.evaluate('getComputedStyle(document.activeElement).outlineStyle'), 'none');
    await tab.press('Enter');
    await tab.untilText('Resume');
    await tab.tabTo("e.textContent === 'Cancel job'");
    await tab.press('Enter');
    await tab.until("document.querySelector('dialog').open");
    await tab.press('Escape');
    await tab.until("!document.querySelector('dialog').open");
    await tab.press('Enter');
    await tab.until("document.querySelector('dialog').open");
    await tab.tabTo("e.closest('dialog') && e.className === 'danger'");
    await tab.press('Enter');
    await tab.untilText('cancel asked for');
    noComplaints(tab);
  },
};

async function main() {
  process.exitCode = 1;  // until all has been seen
  const browser = new Browser();
  let failed = 0;
  for (const [name, test] of Object.entries(tests)) {
    try {
      await test(browser);
      console.log(`ok: ${name}`);
    } catch (error) {
      ++failed;
      console.log(`FAILED: ${name}: ${error.stack}`);
    }
  }
  await browser.close();
  if (failed === 0) process.exitCode = 0;
}

main();
