import type { Stage } from "./Stage.ts";
import { mustSucceed, Violation } from "../Violation.ts";

const reading: ReadonlySet<string> = new Set(["readFile", "readdir", "stat"]);

/**
 * What must be possible after every crash: a reader sees what was promised and changes nothing, an owner goes on from
 * there, and the next ones see the same again.
 */
export async function recoverStore(stage: Stage, variant: number): Promise<void> {
  await lookOnly(stage);
  const first = stage.start();
  await mustSucceed("usable", async () => {
    await first.open();
    await first.append("after the crash", variant % 3 === 0 ? { status: "recovered" } : {});
  });
  await first.look();
  if (variant % 2 === 0) first.kill();
  else await mustSucceed("usable", () => first.release());
  const second = stage.start();
  await second.look("idempotent");
  await mustSucceed("usable", async () => {
    await second.open();
    await second.append("and again", variant % 3 === 1 ? { asBlob: true } : {});
    await second.release();
  });
  await stage.start().look("idempotent");
}

/** The index of the agents is derived: a list may make it. */
async function lookOnly(stage: Stage): Promise<void> {
  const { fileSystem } = stage;
  const { position } = fileSystem;
  const { length } = fileSystem.calls;
  const found = await stage.start().look();
  const calls = fileSystem.calls.slice(length).filter(({ path }) => !path.startsWith("/store/index"));
  const isChange = calls.some(({ operation }) => !reading.has(operation));
  if (fileSystem.position !== position && isChange) throw new Violation("reads only", "a reader has changed files");
  stage.history.settle(found);
}
