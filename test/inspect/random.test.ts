import { type AgentCheckpointData, InMemoryPersistenceStorageProvider, persistence } from "agent-persistence";
import { type AgentInspector, inspect, type StepView, type VisitStep } from "agent-persistence/inspect";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { live } from "../persistence/support/liveThrough.ts";
import { randomRun } from "../persistence/support/randomRuns.ts";
import { recordsOf } from "../persistence/support/stored.ts";
import { cases } from "../soak/cases.ts";

const numRuns = cases(4, 80);
const all = { messagesLimit: Infinity };

const isVisit = (step: StepView): step is VisitStep => step.kind === "visit";

async function stepsOf(view: AgentInspector, limit: number): Promise<readonly StepView[]> {
  const found: StepView[] = [];
  let page = await view.steps("a", { after: -1, limit });
  found.push(...page.steps);
  while (page.after !== undefined) {
    page = await view.steps("a", { after: page.after, limit });
    found.push(...page.steps);
  }
  return found;
}

/** Every checkpoint as the library gives it to the code of its agent. */
async function expectContents(view: AgentInspector, checkpoints: readonly AgentCheckpointData[]): Promise<void> {
  for (const data of checkpoints) {
    const { checkpoint, ...content } = await view.checkpoint("a", data.checkpointId, all);
    const { version, runId, iteration, status, createdAt, nodeId, parentId } = data;
    expect(checkpoint).toMatchObject({ version, runId, iteration, status, at: createdAt, node: nodeId });
    expect(checkpoint.parentId).toBe(parentId);
    expect(content.messages.map(({ message }) => message)).toEqual(data.messageHistory.map((value) => ({ value })));
    expect(content.storage).toEqual(
      Object.fromEntries(Object.entries(data.storage).map(([key, value]) => [key, { value }])),
    );
    expect(content.input).toEqual({ value: data.lastInput ?? null });
  }
}

/** What each visit says that it changed, made to what was there before, is what its checkpoint holds. */
async function expectChanges(view: AgentInspector, steps: readonly StepView[]): Promise<void> {
  for (const { fromId, checkpoint, changes } of steps.filter(isVisit)) {
    if (fromId === undefined || checkpoint === undefined) continue;
    const before = await view.checkpoint("a", fromId, all);
    const after = await view.checkpoint("a", checkpoint.checkpointId, all);
    const { added, removed } = changes.messages;
    const isRemoved = (number: number) => removed.some(([first, last]) => number >= first && number <= last);
    const numbers = before.messages.map(({ number }) => number);
    for (const { number, before: next } of added) {
      const at = next === undefined ? -1 : numbers.indexOf(next);
      numbers.splice(at === -1 ? numbers.length : at, 0, number);
    }
    const kept = numbers.filter((number) => !isRemoved(number));
    expect(after.messages.map(({ number }) => number)).toEqual(kept);
    expect(after.storage).toEqual({ ...before.storage, ...changes.storage.set });
  }
}

describe("any run with crashes and rollbacks", () => {
  it("is shown as the library sees it: contents, changes, calls and the effects of a rollback", async () => {
    await fc.assert(
      fc.asyncProperty(randomRun, async (run) => {
        const storage = new InMemoryPersistenceStorageProvider();
        const random = await live(run, () => storage);
        const view = inspect(storage);
        const checkpoints = await storage.getCheckpoints("a");
        const steps = (await view.steps("a", { limit: 10_000 })).steps;
        expect(await stepsOf(view, 7)).toEqual(steps);
        await expectContents(view, checkpoints);
        await expectChanges(view, steps);
        const recorded = (await recordsOf(storage)).filter(({ kind }) => kind === "intent" || kind === "outcome");
        const ids = new Set(recorded.map((record) => (record as unknown as { readonly call: string }).call));
        expect(
          steps
            .filter(isVisit)
            .flatMap(({ calls }) => calls.map(({ toolCallId }) => toolCallId))
            .toSorted(),
        ).toEqual([...ids].toSorted());
        const [first] = checkpoints;
        if (!first) return;
        const { revert, inDoubt, irreversible, openRollbackTo } = await view.previewRollback("a", first.checkpointId);
        if (inDoubt.length > 0 || revert.some(({ state }) => state !== "succeeded") || openRollbackTo !== undefined)
          return;
        const report = await persistence(random.agent(storage)).agent().rollbackToCheckpoint(first.checkpointId);
        expect(report.reverted.map(({ toolCallId }) => toolCallId)).toEqual(revert.map(({ toolCallId }) => toolCallId));
        expect(report.irreversible.map(({ toolCallId }) => toolCallId)).toEqual(
          irreversible.map(({ toolCallId }) => toolCallId),
        );
        const undone = (await view.steps("a", { limit: 10_000 })).steps.filter(isVisit).flatMap(({ calls }) => calls);
        const taken = new Set(revert.map(({ toolCallId }) => toolCallId));
        expect(undone.filter(({ toolCallId, undo }) => taken.has(toolCallId) && undo !== "reverted")).toEqual([]);
      }),
      { numRuns },
    );
  });
});
