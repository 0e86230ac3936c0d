import fc from "fast-check";
import { createHash } from "node:crypto";
import { describe, expect, it } from "vitest";
import {
  decodeEntry,
  encodeEntry,
  generationOfAppend,
  linkOf,
  snapshotMark,
  verifiedLinkOf,
  type EncodableEntry,
} from "../../../src/checkpoint/format/entryCodec.ts";
import { formatVersion } from "../../../src/checkpoint/records/Entry.ts";
import type { Sha256 } from "../../../src/internal/sha256/Sha256.ts";
import { portableSha256 } from "../../../src/internal/sha256/portableSha256.ts";

const sha256: Sha256 = {
  base64url: (data) => createHash("sha256").update(data).digest("base64url"),
  hex: (data) => createHash("sha256").update(data).digest("hex"),
};
const prev = sha256.base64url("before");
const sample = {
  position: 7,
  generation: 3,
  id: "3-12",
  records: [{ kind: "message", text: "héllo 世界 \ud800 \u2028" }],
  prev,
};

const bytesOf = (text: string) => new TextEncoder().encode(text);

/** The text of an encoded entry, without its line break. */
function encoded(entry: EncodableEntry): { readonly line: string; readonly checksum: string } {
  const { encoded: line, checksum } = encodeEntry(entry, sha256);
  expect(line.at(-1)).toBe("\n".charCodeAt(0));
  return { line: new TextDecoder().decode(line.subarray(0, -1)), checksum };
}

describe("the stored form of an append", () => {
  it("stays readable in every later version, as a golden line shows", () => {
    const golden = '["VB_FuwdITuabosjEElvmnPdmrDWed1xs1QaTwOiqw34","",1,"1-1",[{"kind":"message","text":"hi"}]]';
    const { line } = encoded({
      position: 1,
      generation: 1,
      id: "1-1",
      records: [{ kind: "message", text: "hi" } as never],
      prev: "",
    });
    expect(formatVersion).toBe(2);
    expect(line).toBe(golden);
  });

  it("is decoded without changes, from text and bytes, with either hash", async () => {
    const { line, checksum } = encoded(sample);
    const expected = { ok: true, entry: { ...sample, checksum }, snapshot: false, summary: undefined };
    expect(decodeEntry(line, sha256)).toEqual(expected);
    expect(decodeEntry(bytesOf(line), sha256)).toEqual(expected);
    expect(decodeEntry(bytesOf(line), portableSha256)).toEqual(expected);
  });

  it("spends at most 135 bytes on everything except the records", () => {
    const { line } = encoded({ ...sample, position: 123_456, id: "1234-123456", records: [] });
    expect(line.length + 1).toBeLessThanOrEqual(135);
  });

  it.each([
    ["a random id", { ...sample, id: 'a"b\\c\nd' }],
    ["an id that names another generation", { ...sample, id: "9-1" }],
    ["an id with a leading zero", { ...sample, id: "03-1" }],
    ["no records", { ...sample, records: [] }],
  ])("keeps the generation and the id with %s", (_name, entry) => {
    const { line, checksum } = encoded(entry);
    expect(line).not.toContain("\n");
    expect(decodeEntry(line, sha256)).toMatchObject({ ok: true, entry: { ...entry, checksum } });
  });

  it("carries a summary and marks a snapshot by its first bytes", () => {
    const { line } = encoded({ ...sample, snapshot: true, summary: { status: "waiting" } });
    expect(line.startsWith(snapshotMark)).toBe(true);
    expect(decodeEntry(line, sha256)).toMatchObject({ ok: true, snapshot: true, summary: { status: "waiting" } });
  });

  it("keeps any plain JSON, including keys like __proto__", () => {
    fc.assert(
      fc.property(fc.json(), fc.string({ unit: "binary" }), fc.boolean(), (json, id, snapshot) => {
        const records = [
          { kind: "value", value: JSON.parse(json) as unknown },
          JSON.parse('{"kind":"x","__proto__":1}') as { kind: string },
        ];
        const { line } = encoded({ ...sample, id, records, snapshot });
        const decoded = decodeEntry(bytesOf(line), sha256);
        expect(decoded.ok && JSON.stringify(decoded.entry.records)).toBe(JSON.stringify(records));
        expect(decoded.ok && decoded.snapshot).toBe(snapshot);
      }),
    );
  });

  it.each([false, true])("detects every changed byte (snapshot: %s)", (snapshot) => {
    const bytes = bytesOf(encoded({ ...sample, snapshot }).line);
    for (let at = 0; at < bytes.length; at++) {
      for (const flip of [1, 0x20, 0x80, 0xff]) {
        const changed = bytes.slice();
        changed[at] = (changed[at] ?? 0) ^ flip;
        expect(decodeEntry(changed, sha256).ok).toBe(false);
        expect(verifiedLinkOf(changed, sha256)).toBeUndefined();
      }
    }
  });

  it.each([
    ["", false],
    [prev, true],
  ])("shows its position without being parsed (prev %j, snapshot: %s)", (before, snapshot) => {
    const { line, checksum } = encoded({ ...sample, prev: before, snapshot });
    const link = { position: 7, prev: before, checksum };
    expect(verifiedLinkOf(bytesOf(line), sha256)).toEqual(link);
    expect(linkOf(bytesOf(line.slice(0, -9)))).toEqual(link);
    expect(verifiedLinkOf(bytesOf(line.slice(0, -1)), sha256)).toBeUndefined();
  });

  it.each([20_000, 30_000])("encodes text of %i characters outside Latin-1 completely", (length) => {
    const records = [{ kind: "value", text: "世".repeat(length) }];
    expect(decodeEntry(bytesOf(encoded({ ...sample, records }).line), sha256)).toMatchObject({ entry: { records } });
  });

  it("detects every cut and every extension", () => {
    const { line } = encoded(sample);
    for (let length = 0; length < line.length; length++)
      expect(decodeEntry(line.slice(0, length), sha256).ok).toBe(false);
    expect(decodeEntry(`${line} `, sha256).ok).toBe(false);
    expect(decodeEntry(`${line}\0`, sha256).ok).toBe(false);
    expect(decodeEntry(`\ufeff${line}`, sha256).ok).toBe(false);
    expect(decodeEntry(bytesOf(`\ufeff${line}`), sha256).ok).toBe(false);
  });

  it.each([
    ["not JSON", "[["],
    ["no records", '"",1,"1-1"]'],
    ["records that are not a list", '"",1,"1-1",{}]'],
    ["a record without a kind", '"",1,"1-1",[{}]]'],
    ["a position of 0", '"",0,"1-1",[]]'],
    ["no generation", '"",1,"x",[]]'],
    ["extras that are not an object", '"",1,"1-1",[],7]'],
  ])("refuses %s even with a correct checksum", (_name, body) => {
    expect(decodeEntry(`["${sha256.base64url(body)}",${body}`, sha256)).toEqual({ ok: false, defect: "malformed" });
  });
});

describe("the generation of an append", () => {
  const withExtras = (extras: string) => {
    const body = `"",1,"1-1",[{"kind":"message","text":"x"}]${extras}]`;
    return bytesOf(`["${sha256.base64url(bytesOf(body))}",${body}`);
  };

  it.each([
    "",
    ',{"summary":{"a":1}}',
    ',{"generation":9}',
    ',{"summary":{"a":1},"generation":9}',
    String.raw`,{"summary":{"a":1},"gener\u0061tion":9}`,
    ',{"summary":{"generation":9}}',
    ', {"generation":9}',
    ',{"generation":9},[1]',
  ])("is the decoded one with %j at its end", (extras) => {
    const line = withExtras(extras);
    const decoded = decodeEntry(line, sha256);
    expect(generationOfAppend(line, sha256)).toBe(decoded.ok ? decoded.entry.generation : "undecodable");
  });
});
