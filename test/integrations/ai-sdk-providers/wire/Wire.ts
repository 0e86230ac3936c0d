import type { LanguageModel, ToolSet } from "ai";
import type { Sdk } from "../../ai-sdk-agents/support/sdks.ts";

/** A response of a model, before a provider writes it in its own form. */
export interface Turn {
  readonly reasoning?: string;
  /** A query that the provider runs itself, with its own tool. */
  readonly hosted?: string;
  readonly text?: string;
  readonly calls?: readonly { readonly toolName: string; readonly input: object }[];
}

/** The HTTP form of a provider, as its API documents it, and the model of the AI SDK that speaks it. */
export interface Wire {
  readonly name: string;
  /** A model of the provider that sends its requests to `baseURL`. */
  model(sdk: Sdk, baseURL: string): LanguageModel;
  /** The tools that the provider runs itself. */
  hostedTools(sdk: Sdk): ToolSet;
  isStreamed(path: string, body: WireBody): boolean;
  /** How many results of calls a request has. */
  resultsIn(body: WireBody): number;
  /** @param index of the response in the conversation. */
  whole(turn: Turn, index: number): object;
  events(turn: Turn, index: number): readonly object[];
}

/** The body of a request. */
export type WireBody = Readonly<Record<string, unknown>>;

/** Two pieces of a text, as a stream sends it. */
export function piecesOf(text: string): readonly string[] {
  const middle = Math.ceil(text.length / 2);
  return [text.slice(0, middle), text.slice(middle)];
}
