import type { AgentFeature, PersistenceStorageProvider } from "agent-persistence";
import type { AgentRun } from "agent-persistence/feature";
import type { Trace } from "../judge/Trace.ts";

export interface TraceConfig {
  readonly trace: Trace;
  readonly storage: Pick<PersistenceStorageProvider, "getLatestCheckpoint">;
}

/** Traces what happens. Installed after Persistence, whose listeners resolve when what they save is durable. */
export const TraceFeature: AgentFeature<TraceConfig, undefined> = {
  key: "Trace",
  install(pipeline, { trace, storage }) {
    const saved = async ({ run }: { readonly run: AgentRun }) => {
      const latest = await storage.getLatestCheckpoint(pipeline.agentId);
      const { checkpointId: id = "none", version = 0, iteration = 0 } = latest ?? {};
      trace.add({ kind: "checkpoint", id, version, iteration, ended: run.state.iteration });
    };
    pipeline.onStrategyStarting(saved);
    pipeline.onNodeStarting(({ run, nodeId }) =>
      trace.add({ kind: "node", iteration: run.state.iteration, node: nodeId }),
    );
    pipeline.onNodeCompleted(saved);
    pipeline.onToolCallStarting(({ toolCallId, tool, origin }) =>
      trace.add({
        kind: "asked",
        call: toolCallId,
        tool: tool.name,
        effect: tool.effect ?? "irreversible",
        by: origin.kind,
      }),
    );
    pipeline.onToolCallCompleted(({ toolCallId }) => trace.add({ kind: "ended", call: toolCallId }));
    pipeline.onToolCallFailed(({ toolCallId }) => trace.add({ kind: "ended", call: toolCallId }));
    pipeline.onAgentCompleted(() => trace.add({ kind: "completed" }));
    return undefined;
  },
};
