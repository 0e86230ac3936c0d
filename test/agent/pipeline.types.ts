import { expectTypeOf } from "vitest";
import type { AgentFeature, AgentRun, FeaturePipeline, NextStep, RunRequest } from "../../src/feature.ts";
import type { AssistantMessage } from "../../src/checkpoint/messages/Message.ts";
import type { RunResult } from "../../src/agent/feature/RunResult.ts";

export const feature: AgentFeature<object, void> = {
  key: "types",
  install(pipeline) {
    pipeline.onNodeCompleted(({ run, nodeId, next }) => {
      expectTypeOf(run).toEqualTypeOf<AgentRun>();
      expectTypeOf(nodeId).toEqualTypeOf<string>();
      expectTypeOf(next).toEqualTypeOf<NextStep>();
    });
    pipeline.onModelRequestCompleted(async ({ message }) => {
      expectTypeOf(message).toEqualTypeOf<AssistantMessage>();
    });
    pipeline.aroundRun(async (request, next) => {
      expectTypeOf(request).toEqualTypeOf<RunRequest>();
      expectTypeOf(next).returns.resolves.toEqualTypeOf<RunResult<unknown>>();
      return next(request);
    });
    // @ts-expect-error an interceptor of model requests resolves to a message
    pipeline.aroundModelRequest(async () => "text");
    // @ts-expect-error there is no event of this name
    pipeline.onNodeEnded(() => undefined);
  },
};

expectTypeOf<keyof FeaturePipeline & `around${string}`>().toEqualTypeOf<
  | "aroundRun"
  | "aroundBranch"
  | "aroundAgentCall"
  | "aroundNode"
  | "aroundModelRequest"
  | "aroundToolCall"
  | "aroundInputRequest"
>();
