import { expect, it } from "vitest";
import { MemoryRecordLog } from "../../src/storage/memory/MemoryRecordLog.ts";
import { readHead } from "../../src/storage/readHead.ts";
import { checkpoint, lane, run } from "../checkpoint/support/projection.ts";
import { delegatingLog } from "../testing/delegatingLog.ts";
import { collect, nextOwner } from "./file/support/fixture.ts";

it("keeps the heads of the last few thousand agents, however small", async () => {
  const log = new MemoryRecordLog();
  const owned = await log.open("a", nextOwner());
  await owned.append({ id: "1", records: [run, lane(1, { keep: "nothing" })] }, 0);
  await owned.append({ id: "2", records: [checkpoint(1, 1)] }, 1);
  const entries = await collect(log.read("a"));
  let read = 0;
  const many = delegatingLog(log, {
    async *read(_agentId, { after = 0 } = {}) {
      for (const entry of entries.slice(after)) {
        read++;
        yield entry;
      }
    },
  });
  for (let at = 0; at < 8_000; at++) await readHead(many, `a${at}`);
  read = 0;
  await readHead(many, "a7999");
  expect(read).toBe(1);
  await readHead(many, "a0");
  expect(read).toBe(3);
});
