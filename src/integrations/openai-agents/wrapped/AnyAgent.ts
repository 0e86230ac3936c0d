/* oxlint-disable typescript/no-explicit-any -- the SDK declares what takes agents of all kinds so */
import type {
  Agent,
  FunctionTool,
  RunContext,
  RunResult,
  RunState,
  StreamedRunResult,
  Tool,
} from "@openai/agents-core";

/** An agent of any types. */
export type AnyAgent = Agent<any, any>;
/** A tool of any types. */
export type AnyTool = Tool<any>;
/** A function tool of any types. */
export type AnyFunctionTool = FunctionTool<any, any, unknown>;
/** A result of any types. */
export type AnyResult = RunResult<any, any>;
/** A stream of any types. */
export type AnyStream = StreamedRunResult<any, any>;
/** A state of any types. */
export type AnyState = RunState<any, any>;
/** A context of any type. */
export type AnyContext = RunContext<any>;
