import { execFileSync } from "node:child_process";
import { mkdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { agentPath, append, collect, nextOwner, summaryOf, testDirectory, testLog } from "../support/fixture.ts";

const places = ["state.json", "checkpoints/1.jsonl", "checkpoints/2.jsonl", "checkpoints/9.jsonl", "owners/1.alive"];

async function agent() {
  const directory = await testDirectory();
  for (const agentId of ["a", "b"]) {
    const owned = await testLog(directory).open(agentId, nextOwner());
    await append(owned, "one", { summary: summaryOf(agentId, "paused") });
    await owned.release();
  }
  return { directory, log: testLog(directory) };
}

describe.skipIf(process.platform === "win32")("a pipe instead of a file", () => {
  it.each(places)("%s is an immediate error for that agent only", async (place) => {
    const { directory, log } = await agent();
    const path = join(agentPath(directory, "a"), place);
    await rm(path, { force: true });
    execFileSync("mkfifo", [path]);
    const outcomes = await Promise.allSettled([collect(log.read("a")), log.open("a", nextOwner()), log.owner("a")]);
    for (const outcome of outcomes)
      if (outcome.status === "rejected") expect(outcome.reason).toMatchObject({ reason: "permission" });
    if (place !== "owners/1.alive") expect(outcomes[0]?.status).toBe("rejected");
    const listed = await collect(log.list());
    expect(listed.find(({ agentId }) => agentId === "b")).toMatchObject({ status: "paused" });
    expect(listed).toHaveLength(2);
  });
});

it("a directory that another program adds to an agent's directories does not prevent a deletion", async () => {
  const { directory, log } = await agent();
  const path = agentPath(directory, "a");
  for (const inside of ["", "blobs", "checkpoints", "owners", "tmp"]) await mkdir(join(path, inside, "@eaDir"));
  const owned = await log.open("a", nextOwner());
  await owned.drop();
  expect((await collect(log.list())).map(({ agentId }) => agentId)).toEqual(["b"]);
});

it("a segment with the highest possible number is damage and has no owner", async () => {
  const { directory, log } = await agent();
  await writeFile(join(agentPath(directory, "a"), "checkpoints/999999999999999.jsonl"), "");
  await expect(log.open("a", nextOwner())).rejects.toMatchObject({ code: "corrupt_log" });
  await expect(collect(log.read("a"))).rejects.toMatchObject({ code: "corrupt_log" });
});
