// Opens traces in Perfetto's trace processor and prints what it reads of them; fails where it reports errors.
//   node perfetto.cjs FOLDER_WITH_engine_bundle.js FILE.json[.gz]…
// The engine is that of the web page, run as the worker it is written for; it speaks protocol buffers.
'use strict';
const fs = require('fs');
const path = require('path');
const vm = require('vm');
const zlib = require('zlib');

// Without the lines of the engine, which are as long as itself.
const fail = (e) => { console.error(String((e && e.stack) || e).slice(-1500)); process.exit(1); };
process.on('uncaughtException', fail);
process.on('unhandledRejection', fail);

const varint = (n) => {
  const bytes = [];
  for (n = BigInt(n); n > 127n; n >>= 7n) bytes.push(Number(n & 127n) | 128);
  return Buffer.from([...bytes, Number(n)]);
};
const number = (field, n) => Buffer.concat([varint(field << 3), varint(n)]);
const bytes = (field, b) => Buffer.concat([varint((field << 3) | 2), varint(b.length), b]);

function fields(b) {
  const all = [];
  let at = 0;
  const read = () => {
    let n = 0n;
    for (let shift = 0n; ; shift += 7n) {
      const byte = b[at++];
      n |= BigInt(byte & 127) << shift;
      if (byte < 128) return n;
    }
  };
  while (at < b.length) {
    const tag = Number(read());
    if ((tag & 7) === 0) all.push([tag >> 3, read()]);
    else if ((tag & 7) === 1) all.push([tag >> 3, b.subarray(at, (at += 8))]);
    else {
      const length = Number(read());
      all.push([tag >> 3, b.subarray(at, (at += length))]);
    }
  }
  return all;
}

// Cells of a query's batches, as rows of text.
function rows(results) {
  const cells = [];
  let columns = 0;
  for (const result of results) {
    const of = fields(result);
    columns += of.filter(([f]) => f === 1).length;
    for (const [field, value] of of) {
      if (field === 2 && value.length) throw new Error(value.toString());
      if (field !== 3) continue;
      const batch = fields(value);
      const get = (f) => batch.filter(([n]) => n === f).map(([, v]) => v);
      const varints = get(2).flatMap((v) => {
        const list = [];
        for (let i = 0, n = 0n, shift = 0n; i < v.length; i++) {
          n |= BigInt(v[i] & 127) << shift;
          shift += 7n;
          if (v[i] < 128) { list.push(BigInt.asIntN(64, n)); n = 0n; shift = 0n; }
        }
        return list;
      });
      const texts = get(5).flatMap((v) => v.toString().split('\0').slice(0, -1));
      const kinds = get(1).flatMap((v) => (typeof v === 'bigint' ? [Number(v)] : [...v]));
      for (const kind of kinds) cells.push(kind === 2 ? varints.shift() : kind === 4 ? texts.shift() : null);
    }
  }
  const out = [];
  for (let i = 0; i < cells.length; i += columns || 1) out.push(cells.slice(i, i + columns));
  return out;
}

async function engine(folder) {
  const self = { location: { href: `file://${folder}/engine_bundle.js` } };
  class XMLHttpRequest {
    open(_, url) { this.url = url; }
    send() {
      this.response = new Uint8Array(fs.readFileSync(path.join(folder, path.basename(this.url)))).buffer;
      this.status = 200;
      if (this.onload) this.onload();
    }
  }
  const quiet = { log() {}, warn() {}, error() {} };
  const world = { self, location: self.location, WorkerGlobalScope: class {}, importScripts() {}, XMLHttpRequest,
    WebAssembly, console: quiet, setTimeout, performance, TextDecoder, TextEncoder, crypto, Uint8Array, ArrayBuffer,
    TypeError, RangeError };
  vm.runInNewContext(fs.readFileSync(path.join(folder, 'engine_bundle.js'), 'utf8'), vm.createContext(world));
  const replies = [];
  const port = { postMessage: (b) => replies.push(Buffer.from(b)) };
  self.onmessage({ data: port });
  // It is compiled at once; what follows waits for a promise of its own.
  await new Promise((done) => setTimeout(done, 200));
  let seq = 0;
  return (request, ...more) => {
    const message = bytes(1, Buffer.concat([number(1, seq++), number(2, request), ...more]));
    port.onmessage({ data: new Uint8Array(message) });
    return replies.splice(0).flatMap((b) => fields(b)).map(([, rpc]) => fields(rpc));
  };
}

async function look(folder, file) {
  const call = await engine(folder);
  let text = fs.readFileSync(file);
  if (text[0] === 0x1f) text = zlib.gunzipSync(text);
  for (let at = 0; at < text.length; at += 16 << 20) {
    const done = call(1, bytes(101, text.subarray(at, at + (16 << 20))));
    const error = done.flat().filter(([f]) => f === 201).flatMap(([, v]) => fields(v)).find(([f]) => f === 2);
    if (error) throw new Error(error[1].toString());
  }
  call(2);
  const query = (sql) => rows(call(3, bytes(103, bytes(1, Buffer.from(sql)))).flat().filter(([f]) => f === 203).map(([, v]) => v));
  const one = (sql) => Number(query(sql)[0][0]);
  const errors = query("select name, value from stats where severity = 'error' and value > 0");
  // What has no length is a slice there, too; what overlaps another one of its track without lying in it is dropped, and counted.
  const count = (phases) => (text.toString().match(new RegExp(`"ph": ?"[${phases}]"`, 'g')) || []).length;
  const [complete, begun, instants] = ['X', 'B', 'iIR'].map(count);
  const dropped = errors.filter(([n]) => n.startsWith('slice_')).reduce((sum, [, v]) => sum + Number(v), 0);
  const slices = one('select count(*) from slice');
  const missing = complete + begun + instants - dropped - slices;
  console.log(`${path.basename(file)}: ${complete} X events, ${begun} beginnings, ${instants} instants, ${slices} slices` +
    (missing ? ` (${missing} missing)` : '') + `, ${one('select count(*) from flow')} flows, ` +
    `${one('select count(*) from counter')} samples, ${one('select count(*) from thread where name is not null')} named threads` +
    errors.map(([n, v]) => `; ${n} ${v}`).join(''));
  // Overlapping slices are dropped and counted, as of the traces that windows are cut from.
  return missing === 0 && errors.every(([n]) => n.startsWith('slice_'));
}

(async () => {
  const [folder, ...files] = process.argv.slice(2);
  let good = true;
  for (const file of files) good = (await look(path.resolve(folder), file)) && good;
  process.exit(good ? 0 : 1);
})().catch(fail);
