import { expect, it } from "vitest";
import type { LogProjection } from "../../src/checkpoint/state/LogProjection.ts";
import { nodeSha256 } from "../../src/internal/sha256/nodeSha256.ts";
import { contentReader } from "../../src/journal/notesAround.ts";
import type { BlobStore } from "../../src/storage/BlobStore.ts";

it("reads each of three blobs once if their contents alternate", async () => {
  const texts = Array.from({ length: 12 }, (_, at) => `${at}`.padStart(2));
  const places = texts.map(
    (text, at) => [nodeSha256.hex(text), { blob: `${at % 3}`, offset: 2 * Math.floor(at / 3), bytes: 2 }] as const,
  );
  const index = { contents: new Map(places) } as unknown as LogProjection;
  const gets: string[] = [];
  const get: BlobStore["get"] = (_agentId, blob) => {
    gets.push(blob);
    return Promise.resolve(Buffer.from(texts.filter((_, at) => `${at % 3}` === blob).join("")));
  };
  const read = contentReader({ blobs: { get } as BlobStore, agentId: "a", index, sha256: nodeSha256 });
  for (const text of texts) expect(Buffer.from((await read(nodeSha256.hex(text))) ?? [])).toEqual(Buffer.from(text));
  expect(gets).toEqual(["0", "1", "2"]);
});
