import { AgentPersistenceError } from "agent-persistence";
import type { Fault } from "agent-persistence/testing";
import type { Stage } from "./Stage.ts";
import type { StoreProcess } from "./StoreProcess.ts";
import { mustSucceed, Violation } from "../Violation.ts";

/** Two owners after one another, with a status, a blob and a compaction, while calls fail. What fails is taken over. */
export async function playWithFault(stage: Stage, fault: Fault | undefined): Promise<void> {
  stage.fileSystem.inject(fault);
  for (const owner of ["one", "two"]) {
    const process = stage.start();
    try {
      await run(process, owner);
    } catch (error) {
      if (!(error instanceof AgentPersistenceError))
        throw error instanceof Violation
          ? error
          : new Violation("usable", `no typed error: ${String(error)}`, { cause: error });
      stage.fileSystem.inject(undefined);
      await goOn(stage, process);
    }
  }
}

async function run(process: StoreProcess, owner: string): Promise<void> {
  await process.open();
  await process.append(`${owner} begins ${"text ".repeat(150)}`, { status: owner });
  await process.append(`${owner} goes on`, { asBlob: true });
  await process.append(`${owner} ends`);
  if (owner === "two") await process.pruneBefore(1);
  await process.release();
}

async function goOn(stage: Stage, failed: StoreProcess): Promise<void> {
  failed.kill();
  const next = stage.start();
  stage.history.settle(await next.look());
  await mustSucceed("usable", async () => {
    await next.open();
    await next.append("after the failure");
    await next.release();
  });
}
