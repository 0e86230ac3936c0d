import { expect, it } from "vitest";
import { FolderSyncs } from "../../src/nodejs/Disk.ts";

function gated() {
  const begun: { readonly path: string; readonly end: (error?: Error) => void }[] = [];
  const syncs = new FolderSyncs(
    (path) =>
      new Promise<void>((resolve, reject) => begun.push({ path, end: (error) => (error ? reject(error) : resolve()) })),
  );
  return { begun, syncs };
}

it("syncs of one directory that arrive during a running sync share the next sync", async () => {
  const { begun, syncs } = gated();
  const ended: string[] = [];
  const sync = (name: string) => syncs.sync("a").then(() => ended.push(name));
  const [first, second, third] = [sync("first"), sync("second"), sync("third")];
  expect(begun).toHaveLength(1);
  begun[0]?.end();
  await first;
  expect(ended).toEqual(["first"]);
  await expect.poll(() => begun.length).toBe(2);
  const fourth = sync("fourth");
  begun[1]?.end();
  await Promise.all([second, third]);
  expect(ended).toEqual(["first", "second", "third"]);
  await expect.poll(() => begun.length).toBe(3);
  begun[2]?.end();
  await fourth;
});

it("a failed sync rejects only the calls that share it", async () => {
  const { begun, syncs } = gated();
  const [first, second, other] = [syncs.sync("a"), syncs.sync("a"), syncs.sync("b")];
  begun[0]?.end(new Error("full"));
  await expect(first).rejects.toThrow("full");
  begun[1]?.end();
  await other;
  await expect.poll(() => begun.length).toBe(3);
  begun[2]?.end();
  await second;
});
