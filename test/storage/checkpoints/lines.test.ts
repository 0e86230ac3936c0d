import { expect, it } from "vitest";
import { CheckpointRecordLog } from "../../../src/storage/checkpoints/CheckpointRecordLog.ts";
import { processOwner } from "../../../src/storage/ReleasableLog.ts";
import { branch, checkpoint, lane, run, subAgent } from "../../checkpoint/support/projection.ts";
import { RowsProvider } from "../../persistence/support/storages.ts";

it("a three-method storage gets the checkpoints of branches but not of called agents", async () => {
  const provider = new RowsProvider();
  const owned = await new CheckpointRecordLog(provider).open("a", processOwner());
  const intent = { kind: "intent", lane: 2, visit: [3, 0], call: "c", tool: "ask", effect: "none", node: "n" } as const;
  const appends = [
    [run, lane(1, { keep: "nothing" }), checkpoint(1, 1), checkpoint(1, 2, { node: "both" })],
    [...branch(2, 3, [1, 2, "a"]), intent],
    [...subAgent(3, 4, [2, "c"])],
    [...branch(4, 5, [3, 4, "x"])],
    [checkpoint(2, 6, { ended: true, node: "finish" })],
  ];
  for (const records of appends) await owned.append({ id: `1-${owned.position}`, records }, owned.position);
  const stored = await provider.getCheckpoints("a");
  expect(stored.map(({ version, branch: path, status }) => [version, path, status])).toEqual([
    [1, undefined, "in_progress"],
    [2, undefined, "in_progress"],
    [3, "both#a", "in_progress"],
    [6, "both#a", "completed"],
  ]);
  await owned.release();
  const again = await new CheckpointRecordLog(provider).open("a", processOwner());
  expect(again.position).toBe(4);
});
