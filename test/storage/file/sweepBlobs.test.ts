import { readdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, it } from "vitest";
import { agentPath, append, collect, nextOwner, testDirectory, testLog } from "./support/fixture.ts";

it("compaction removes only the unreferenced blobs of earlier owners", async () => {
  const directory = await testDirectory();
  const log = testLog(directory);
  const put = (text: string, generation: number, encoding?: "gzip") =>
    log.blobs.put("a", generation, Buffer.from(text), encoding);
  const first = await log.open("a", nextOwner());
  const [named, packed, pruned] = [await put("named", 1), await put("packed", 1, "gzip"), await put("pruned", 1)];
  const [orphan, packedOrphan] = [await put("orphan", 1), await put("orphan", 1, "gzip")];
  await append(first, named);
  await append(first, pruned);
  await append(first, packed, { snapshot: true });
  await first.release();

  const second = await log.open("a", nextOwner());
  const own = await put("its line comes next", 2);
  await writeFile(join(agentPath(directory, "a"), "blobs", "note.txt"), "somebody else's");
  const entries = await collect(log.read("a"));
  const gaps = [{ first: 2, last: 2, before: entries[0]?.checksum, after: entries[1]?.checksum }];
  await second.append({ id: "p", records: [{ kind: "pruned", gaps } as never] }, 3);
  await second.prune();
  const left = await readdir(join(agentPath(directory, "a"), "blobs"));
  expect(left.toSorted()).toEqual(
    [named, packed, own]
      .map((blob) => blob.slice("blob://".length))
      .concat("note.txt")
      .toSorted(),
  );
  for (const gone of [orphan, packedOrphan, pruned]) expect(await log.blobs.get("a", gone)).toBeUndefined();
});
