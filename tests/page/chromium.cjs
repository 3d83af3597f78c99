// Headless Chromium, driven over a pipe by the DevTools protocol: no port, and no package.
'use strict';
const {spawn} = require('node:child_process');
const {mkdtempSync, rmSync, writeFileSync} = require('node:fs');
const {tmpdir} = require('node:os');
const path = require('node:path');

const kPatience = 60000;  // milliseconds; a busy machine gets this long before a test fails

class Browser {
  constructor() {
    this.profile = mkdtempSync(path.join(tmpdir(), 'caravan-chromium-'));
    this.process = spawn('chromium', ['--headless=new', '--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage',
      '--remote-debugging-pipe', '--ignore-certificate-errors', `--user-data-dir=${this.profile}`, 'about:blank'],
    {stdio: ['ignore', 'ignore', 'ignore', 'pipe', 'pipe']});
    this.waiting = new Map();
    this.hasEnded = false;
    this.listeners = [];
    this.last = 0;
    this.process.once('exit', () => this.end());
    this.process.stdio[3].on('error', () => {});  // it has ended, which is told by itself
    let rest = '';
    this.process.stdio[4].setEncoding('utf8').on('data', (text) => {
      const messages = (rest + text).split('\0');
      rest = messages.pop();
      for (const message of messages) this.take(JSON.parse(message));
    });
  }

  take(message) {
    const waits = this.waiting.get(message.id);
    if (!waits) return this.listeners.forEach((listener) => listener(message));
    this.waiting.delete(message.id);
    if (message.error) waits.reject(new Error(message.error.message)); else waits.resolve(message.result);
  }

  // Nobody waits for an answer of a program that is no more: Node would end in order, with tests that never ran.
  end() {
    this.hasEnded = true;
    for (const {reject} of this.waiting.values()) reject(new Error('Chromium has ended'));
    this.waiting.clear();
  }

  send(method, params = {}, sessionId = undefined) {
    if (this.hasEnded) return Promise.reject(new Error('Chromium has ended'));
    return new Promise((resolve, reject) => {
      this.waiting.set(++this.last, {resolve, reject});
      this.process.stdio[3].write(`${JSON.stringify({id: this.last, method, params, sessionId})}\0`);
    });
  }

  // A window with storage and connections of its own.
  async open(url, width = 1280, height = 1000) {
    const {browserContextId} = await this.send('Target.createBrowserContext');
    return this.openIn(browserContextId, url, width, height);
  }

  // A window that shares the connections of others.
  async openIn(browserContextId, url, width = 1280, height = 1000) {
    const {targetId} = await this.send('Target.createTarget', {url: 'about:blank', browserContextId, newWindow: true});
    const {sessionId} = await this.send('Target.attachToTarget', {targetId, flatten: true});
    const tab = new Tab(this, sessionId);
    await Promise.all(['Page.enable', 'Runtime.enable', 'Log.enable'].map((method) => tab.send(method)));
    await tab.send('Emulation.setDeviceMetricsOverride', {width, height, deviceScaleFactor: 1, mobile: width < 500});
    await tab.send('Page.navigate', {url});
    return tab;
  }

  async close() {
    if (!this.hasEnded) {
      const ended = new Promise((resolve) => { this.process.once('exit', resolve); });
      this.send('Browser.close').catch(() => {});
      await ended;
    }
    rmSync(this.profile, {recursive: true, force: true, maxRetries: 5});
  }
}

class Tab {
  constructor(browser, sessionId) {
    this.browser = browser;
    this.sessionId = sessionId;
    this.complaints = [];  // exceptions, and what the policy of the page refused
    browser.listeners.push((message) => {
      if (message.sessionId !== sessionId) return;
      if (message.method === 'Runtime.exceptionThrown') this.complaints.push(JSON.stringify(message.params));
      if (message.method === 'Log.entryAdded' && message.params.entry.source === 'security') this.complaints.push(message.params.entry.text);
    });
  }

  send(method, params) { return this.browser.send(method, params, this.sessionId); }

  async evaluate(expression) {
    const {result, exceptionDetails} = await this.send('Runtime.evaluate', {expression, returnByValue: true, awaitPromise: true});
    if (exceptionDetails) throw new Error(`${expression}: ${exceptionDetails.exception?.description ?? exceptionDetails.text}`);
    return result.value;
  }

  // Until the expression is true of the page.
  async until(expression) {
    for (const end = Date.now() + kPatience; Date.now() < end; await new Promise((resolve) => { setTimeout(resolve, 50); })) {
      if (await this.evaluate(`Boolean(${expression})`).catch(() => false)) return;
    }
    throw new Error(`waited in vain for ${expression}; the page says: ${(await this.evaluate('document.body.innerText')).slice(0, 2000)}`);
  }

  untilText(text) { return this.until(`document.body.innerText.includes(${JSON.stringify(text)})`); }

  async press(key) {
    const code = {Tab: 9, Enter: 13, Escape: 27}[key];
    const common = {key, code: key, windowsVirtualKeyCode: code};
    await this.send('Input.dispatchKeyEvent', {type: 'keyDown', ...common, text: key === 'Enter' ? '\r' : undefined});
    await this.send('Input.dispatchKeyEvent', {type: 'keyUp', ...common});
  }

  type(text) { return this.send('Input.insertText', {text}); }

  // Presses Tab until the expression is true of the element `e` that has the focus.
  async tabTo(expression) {
    for (let presses = 0; presses < 60; ++presses) {
      if (await this.evaluate(`((e) => Boolean(${expression}))(document.activeElement)`)) return;
      await this.press('Tab');
    }
    throw new Error(`no Tab leads to ${expression}`);
  }

  async screenshot(file) {
    const {data} = await this.send('Page.captureScreenshot', {format: 'png'});
    writeFileSync(file, Buffer.from(data, 'base64'));
  }
}

module.exports = {Browser};
