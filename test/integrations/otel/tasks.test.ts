import { InMemoryPersistenceStorageProvider, InvalidInputError } from "agent-persistence";
import { TaskManager, TaskWorker } from "agent-persistence/task";
import { describe, expect, it } from "vitest";
import { recordingTelemetry, tracedAgent } from "./tracedAgent.ts";

describe("the run of a task", () => {
  it.each(["all", "persistence"] as const)("links to the span that queued it, with spans: %s", async (spans) => {
    const storage = new InMemoryPersistenceStorageProvider();
    const queue = recordingTelemetry({ spans });
    const tasks = new TaskManager({ storage, telemetry: queue.telemetry });
    const task = { taskId: "t-1", taskName: "desk", inputRequest: "secret" };
    await queue.tracer.startActiveSpan("request", async (request) => {
      await tasks.create(task);
      request.end();
    });
    const [queued] = queue.named("agent_persistence.enqueue");
    expect(queued?.attributes).toEqual({ "gen_ai.conversation.id": "t-1" });
    expect(queue.parentOf(queued as never)).toBe("request");
    expect(queue.named("agent_persistence.open").map(queue.parentOf)).toEqual(["agent_persistence.enqueue"]);

    const work = recordingTelemetry({ spans });
    const agent = tracedAgent(work.telemetry, { storage });
    const outcomes: string[] = [];
    const onOutcome = ({ outcome }: { readonly outcome: string }) => void outcomes.push(outcome);
    await new TaskWorker({ tasks: new TaskManager({ storage }), agents: agent, onOutcome }).run();
    expect(outcomes).toEqual(["completed"]);
    const [run] = work.named(spans === "all" ? "invoke_agent desk" : "agent_persistence.resume");
    const { traceId, spanId } = queued?.spanContext() ?? {};
    expect(run?.links.map(({ context }) => context)).toMatchObject([{ traceId, spanId }]);
    expect(run?.spanContext().traceId).not.toBe(traceId);
  });

  it("refuses an invalid telemetry", () => {
    const storage = new InMemoryPersistenceStorageProvider();
    expect(() => new TaskManager({ storage, telemetry: {} as never })).toThrow(InvalidInputError);
  });
});
