import type { AskedDigest } from "../../agent/model/RequestDigest.ts";
import type { LinePath } from "../../checkpoint/data/linePath.ts";
import type { LineRecording, RecordedInput, RecordedResponse, RecordedToolCall } from "../recording/Recording.ts";
import { sameValue } from "./sameValue.ts";

type Placed<Result> = Result & { readonly path?: LinePath | undefined };

export interface RecordedResults {
  readonly answers: readonly Placed<RecordedResponse>[];
  readonly calls: readonly Placed<RecordedToolCall>[];
  readonly requests: readonly Placed<RecordedInput>[];
}

export interface ResultPlace {
  readonly nodeId: string;
  readonly branch: string | undefined;
  readonly agentPath: readonly string[];
}

/**
 * The recorded results of a run, found by their content. Each result is returned only once. The node that requested it
 * in the recording comes first.
 */
export class ResultPool {
  readonly #responses: Placed<RecordedResponse>[];
  readonly #calls: Placed<RecordedToolCall>[];
  readonly #inputs: Placed<RecordedInput>[];

  constructor({ answers, calls, requests }: RecordedResults) {
    const byOrder = <Item extends { readonly order: number }>(items: readonly Item[]) =>
      items.toSorted((a, b) => a.order - b.order);
    this.#responses = byOrder(answers);
    this.#calls = byOrder(calls.filter(({ outcome }) => outcome !== undefined));
    this.#inputs = byOrder(requests.filter(({ reply }) => reply !== undefined));
  }

  /** Returns the response to an equal request of the node. If there is none, returns the next response of the node. */
  response(place: ResultPlace, asked: AskedDigest): RecordedResponse | undefined {
    const ofNode = this.#responses.filter((each) => each.nodeId === place.nodeId && isOfAgent(each, place));
    const equal = ofNode.filter((each) => each.asked !== undefined && asked.matches(each.asked));
    return take(this.#responses, nearest(equal.length > 0 ? equal : ofNode, place));
  }

  /** Returns the next call of the tool with an equal input. */
  call(place: ResultPlace, toolName: string, input: unknown): RecordedToolCall | undefined {
    const equal = this.#calls.filter((each) => each.toolName === toolName && sameValue(each.input, input));
    return take(this.#calls, nearest(equal, place));
  }

  /** Returns the next answer to an equal question. */
  input(place: ResultPlace, question: string, isApproval: boolean): RecordedInput | undefined {
    const isEqual = (each: RecordedInput) => each.question === question && (each.approval !== undefined) === isApproval;
    return take(this.#inputs, nearest(this.#inputs.filter(isEqual), place));
  }
}

/** Returns the results of a line and of its nested lines. */
export function allResults(line: LineRecording): RecordedResults {
  const lines = [line];
  for (const { parts } of lines) for (const { nested } of parts) lines.push(...nested.map((each) => each.line));
  return joinedResults(lines);
}

/** Returns the results of all lines, each with the path of its line. */
export function joinedResults(
  lines: readonly Pick<LineRecording, "answers" | "calls" | "requests" | "path">[],
): RecordedResults {
  return {
    answers: lines.flatMap(({ answers, path }) => answers.map((each) => ({ ...each, path }))),
    calls: lines.flatMap(({ calls, path }) => calls.map((each) => ({ ...each, path }))),
    requests: lines.flatMap(({ requests, path }) => requests.map((each) => ({ ...each, path }))),
  };
}

function isOfAgent({ path }: Placed<unknown>, { agentPath }: ResultPlace): boolean {
  return path === undefined || path.agentPath.join("\n") === agentPath.join("\n");
}

/**
 * Returns the first result of the node in the same branch. If there is none, returns the first of the node in any
 * branch, then the first of any node.
 */
function nearest<Result extends Placed<{ readonly nodeId: string }>>(
  results: readonly Result[],
  place: ResultPlace,
): Result | undefined {
  const ofNode = results.filter((each) => each.nodeId === place.nodeId && isOfAgent(each, place));
  return ofNode.find(({ path }) => path?.branch === place.branch) ?? ofNode[0] ?? results[0];
}

function take<Item>(items: Item[], item: Item | undefined): Item | undefined {
  if (item !== undefined) items.splice(items.indexOf(item), 1);
  return item;
}
