// What becomes of a browser test whose browser dies.
import {test} from 'node:test';
import assert from 'node:assert';
import {chmodSync, mkdtempSync, rmSync, writeFileSync} from 'node:fs';
import {createRequire} from 'node:module';
import {tmpdir} from 'node:os';
import path from 'node:path';

const {Browser} = createRequire(import.meta.url)('./chromium.cjs');

test('whoever waits for a browser that dies is told, and whoever asks it later', async () => {
  const folder = mkdtempSync(path.join(tmpdir(), 'caravan-no-chromium-'));
  writeFileSync(path.join(folder, 'chromium'), '#!/bin/sh\nhead -c 1 <&3 >/dev/null\nkill -9 $$\n');
  chmodSync(path.join(folder, 'chromium'), 0o755);
  const before = process.env.PATH;
  process.env.PATH = `${folder}:${before}`;
  const browser = new Browser();
  process.env.PATH = before;
  await assert.rejects(browser.open('about:blank'), /Chromium has ended/);
  await assert.rejects(browser.send('Browser.getVersion'), /Chromium has ended/);
  await browser.close();
  rmSync(folder, {recursive: true});
});
