/* oxlint-disable typescript/no-explicit-any -- the SDK declares what takes agents of all kinds so */
import type {
  Agent,
  ComputerTool,
  FunctionTool,
  HostedTool,
  RunContext,
  RunResult,
  RunState,
  StreamedRunResult,
  Tool,
} from "@openai/agents-core";

export type AnySdkAgent = Agent<any, any>;
export type AnySdkTool = Tool<any>;
export type AnyFunctionTool = FunctionTool<any, any, unknown>;
export type AnyComputerTool = ComputerTool<any, any>;
export type AnyHostedTool = HostedTool;
export type AnyResult = RunResult<any, any>;
export type AnyStream = StreamedRunResult<any, any>;
export type AnyState = RunState<any, any>;
export type AnyContext = RunContext<any>;
