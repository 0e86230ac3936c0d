import { expect, it } from "vitest";
import { message, append, nextOwner, testDirectory, testLog, TestMachine } from "../support/fixture.ts";

const lastAppend = ({ generation, position }: { readonly generation: number; readonly position: number }) => ({
  id: `${generation}-${position + 1}`,
  records: [message("last")],
});

async function twoProcesses() {
  const directory = await testDirectory();
  const machine = new TestMachine();
  const [log, other] = [machine.start(), machine.start()].map((processIdentity) =>
    testLog(directory, { processIdentity }),
  );
  if (!log || !other) throw new Error("no logs");
  return { log, other };
}

it("a stop request reaches an owner that prunes before its next heartbeat", async () => {
  const { log, other } = await twoProcesses();
  const owned = await log.open("a", nextOwner());
  await append(owned, "one");
  await other.requestStop("a", "please");
  await owned.prune();
  expect(owned.lost.reason).toMatchObject({ code: "stop_requested", reason: "please" });
});

it("a stop request reaches an owner that receives a log before its next heartbeat", async () => {
  const { log, other } = await twoProcesses();
  const source = await log.open("b", nextOwner());
  await append(source, "one");
  await source.release();
  const appends = (async function* () {
    await other.requestStop("a", "please");
    yield* log.encodedAppends("b");
  })();
  const owned = await log.receive("a", nextOwner(), { generation: 1, appends }, lastAppend);
  expect(owned.lost.reason).toMatchObject({ code: "stop_requested", reason: "please" });
});
