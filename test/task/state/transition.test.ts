import { InvalidInputError } from "agent-persistence";
import {
  allowedTransitions,
  isResumable,
  STATE_TRANSITIONS,
  type StateData,
  type Task,
  TaskStatus,
  TransitionNotAllowedError,
  transitionTask,
} from "agent-persistence/task";
import { describe, expect, it } from "vitest";
import { exampleData, exampleTask } from "../exampleTask.ts";

const at = "2026-01-02T00:00:00.000Z";
const statuses = Object.values(TaskStatus);

/** The table of the issue, by hand: a row for each status, in the order of `statuses`. */
const table: Readonly<Record<TaskStatus, string>> = {
  queued: "-y----y",
  in_progress: "--yyyy-",
  paused: "-y----y",
  waiting: "-y---yy",
  completed: "-------",
  failed: "y------",
  cancelled: "-------",
};
const pairs = statuses.flatMap((from) => statuses.map((to, column) => ({ from, to, allowed: table[from][column] })));

describe("the transitions of a task", () => {
  it("the table of transitions has 49 pairs of statuses", () => {
    expect(pairs).toHaveLength(49);
  });

  it.each(pairs)("the transition $from → $to is allowed (y) or refused (-): $allowed", ({ from, to, allowed }) => {
    const task = exampleTask(from);
    const move = { to, at, data: exampleData[to] };
    if (allowed === "y") {
      expect(transitionTask(task, move)).toEqual({ ...task, status: to, updatedAt: at, data: exampleData[to] });
      return;
    }
    const refused = errorOf(() => transitionTask(task, move));
    expect(refused).toBeInstanceOf(TransitionNotAllowedError);
    expect(refused).toMatchObject({
      code: "transition_not_allowed",
      taskId: "t",
      from,
      to,
      allowed: STATE_TRANSITIONS[from],
    });
    for (const named of ['"t"', from, to, ...STATE_TRANSITIONS[from]]) expect(refused.message).toContain(named);
  });

  it("an unrecoverable failure allows no transition", () => {
    const task = { ...exampleTask("failed"), data: { ...exampleData.failed, recoverable: false } } as Task;
    expect(allowedTransitions(task)).toEqual([]);
    expect(() => transitionTask(task, { to: "queued", at, data: exampleData.queued })).toThrow(
      "It is finished permanently",
    );
  });
});

/** For each status a field that is missing or wrong, and what it is replaced by. */
const wrong: { readonly [Status in TaskStatus]: readonly (readonly [keyof StateData[Status] & string, unknown])[] } = {
  queued: [
    ["priority", 1.5],
    ["taskId", undefined],
    ["estimatedComplexity", "huge"],
    ["reserves", [{ path: "", operation: "read" }]],
  ],
  in_progress: [
    ["iterationCount", -1],
    ["startedAt", "yesterday"],
  ],
  paused: [
    ["pauseReason", undefined],
    ["snapshot", { messages: [] }],
  ],
  waiting: [
    ["waitingFor", "godot"],
    ["timeoutAt", 5],
  ],
  completed: [
    ["filesModified", undefined],
    ["verificationResults", "good"],
  ],
  failed: [
    ["recoverable", undefined],
    ["retryCount", 0.5],
  ],
  cancelled: [["cancelledAt", undefined]],
};
const predecessor = (status: TaskStatus) => statuses.find((from) => STATE_TRANSITIONS[from].includes(status));

describe("the data of a status", () => {
  it.each(statuses.flatMap((to) => wrong[to].map(([field, value]) => ({ to, field, value }))))(
    "the data of a task that is $to is refused when $field is $value",
    ({ to, field, value }) => {
      const { [field]: _left, ...rest } = exampleData[to] as unknown as Record<string, unknown>;
      const data = (value === undefined ? rest : { ...rest, [field]: value }) as never;
      const refused = errorOf(() => transitionTask(exampleTask(predecessor(to) ?? "queued"), { to, at, data }));
      expect(refused).toBeInstanceOf(InvalidInputError);
      expect(refused.message).toContain(to);
      expect((refused as InvalidInputError).problems.map(({ path }) => path.split(".")[0])).toEqual([field]);
    },
  );

  it("the data of a status with a field of another status is refused", () => {
    const data = { ...exampleData.cancelled, pauseReason: "?" };
    expect(() => transitionTask(exampleTask("queued"), { to: "cancelled", at, data })).toThrow("pauseReason");
  });
});

describe("a resumable task", () => {
  it.each([
    ["queued", undefined, false],
    ["in_progress", undefined, true],
    ["in_progress", "gone", true],
    ["in_progress", "silent", true],
    ["in_progress", "alive", false],
    ["paused", undefined, true],
    ["waiting", undefined, false],
    ["completed", undefined, false],
    ["failed", undefined, true],
    ["cancelled", undefined, false],
  ] as const)("isResumable of a task that is %s with an owner that is %s: %s", (status, owner, expected) => {
    expect(isResumable(exampleTask(status), owner)).toBe(expected);
  });

  it("an unrecoverably failed task is not resumable", () => {
    const data = { ...exampleData.failed, recoverable: false };
    expect(isResumable({ status: "failed", data })).toBe(false);
  });
});

function errorOf(action: () => unknown): Error {
  try {
    action();
  } catch (error) {
    return error as Error;
  }
  throw new Error("It was allowed.");
}
