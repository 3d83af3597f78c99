// Bundles src/ and writes what the service serves as one C++ file: build.cjs FILE.cc
'use strict';
const {createHash} = require('node:crypto');
const {readFileSync, writeFileSync} = require('node:fs');
const path = require('node:path');
const esbuild = require('esbuild');

// Three octal digits end by themselves, whatever comes next.
const escaped = (byte) => (byte >= 32 && byte < 127 && byte !== 34 && byte !== 92 && byte !== 63
  ? String.fromCharCode(byte) : `\\${byte.toString(8).padStart(3, '0')}`);
const literal = (text) => {
  const bytes = [...Buffer.from(text)];
  const lines = [];
  for (let at = 0; at < bytes.length; at += 4096) lines.push(`"${bytes.slice(at, at + 4096).map(escaped).join('')}"`);
  return lines.join('\n    ');
};

// Whose licence asks for it to be there wherever a copy is.
const uplot = path.dirname(require.resolve('uplot/package.json'));
const licence = `/*! uPlot\n${readFileSync(path.join(uplot, 'LICENSE'), 'utf8')}*/`;

const bundled = esbuild.buildSync({
  entryPoints: [path.join(__dirname, 'src/main.js')], bundle: true, minify: true, format: 'esm', target: 'es2022',
  charset: 'utf8', banner: {js: licence, css: licence}, write: false, outdir: '/', nodePaths: [process.env.NODE_PATH],
});
const files = bundled.outputFiles.map(({path: name, text}) => {
  const kind = path.extname(name);
  const hash = createHash('sha256').update(text).digest('hex').slice(0, 16);
  return {kind, path: `/page/${hash}${kind}`, type: kind === '.js' ? 'text/javascript' : 'text/css', text};
});
const named = (kind) => files.find((file) => file.kind === kind).path;
const index = readFileSync(path.join(__dirname, 'src/index.html'), 'utf8')
  .replace('main.css', named('.css')).replace('main.js', named('.js'));
files.push({path: '/', type: 'text/html', text: index});

writeFileSync(process.argv[2], `// Made by page/build.cjs.
#include "service/page/page_files.h"

namespace caravan::service {
namespace {

constexpr PageFile kFiles[] = {
${files.map(({path: at, type, text}) => `    {"${at}", "${type}; charset=utf-8",\n    ${literal(text)}},`).join('\n')}
};

}  // namespace

const std::span<const PageFile> kPageFiles = kFiles;

}  // namespace caravan::service
`);
