import { addToGroup } from "../../internal/addToGroup.ts";
import type { AskedDigest } from "../../agent/model/RequestDigest.ts";
import type { LinePath } from "../../checkpoint/data/linePath.ts";
import { canonicalText } from "../../checkpoint/values/isSameValue.ts";
import type { LineRecording, RecordedInput, RecordedResponse, RecordedToolCall } from "../recording/Recording.ts";

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

/** The recorded results of a run by content. Returns each result once, and first the results of the same node. */
export class ResultPool {
  readonly #responses: Placed<RecordedResponse>[];
  readonly #calls = new Map<string, Placed<RecordedToolCall>[]>();
  readonly #inputs: Placed<RecordedInput>[];

  constructor({ answers, calls, requests }: RecordedResults) {
    const byOrder = <Item extends { readonly order: number }>(items: readonly Item[]) =>
      items.toSorted((a, b) => a.order - b.order);
    this.#responses = byOrder(answers);
    this.#inputs = byOrder(requests.filter(({ reply }) => reply !== undefined));
    for (const call of byOrder(calls.filter(({ outcome }) => outcome !== undefined)))
      addToGroup(this.#calls, callKey(call.toolName, call.input), call);
  }

  /** Returns the response to an equal request of the node, or else the next response of the node. */
  response(place: ResultPlace, asked: AskedDigest): RecordedResponse | undefined {
    const isEqual = (each: RecordedResponse) => each.asked !== undefined && asked.matches(each.asked);
    const [inBranch, ofNode] = nearest(place);
    return take(this.#responses, [
      (each) => inBranch(each) && isEqual(each),
      (each) => ofNode(each) && isEqual(each),
      inBranch,
      ofNode,
    ]);
  }

  /** Returns the next call of the tool with an equal input. */
  call(place: ResultPlace, toolName: string, input: unknown): RecordedToolCall | undefined {
    return take(this.#calls.get(callKey(toolName, input)) ?? [], [...nearest(place), () => true]);
  }

  /** Returns the next answer to an equal question. */
  input(place: ResultPlace, question: string, isApproval: boolean): RecordedInput | undefined {
    const isEqual = (each: RecordedInput) => each.question === question && (each.approval !== undefined) === isApproval;
    const [inBranch, ofNode] = nearest(place);
    return take(this.#inputs, [
      (each) => inBranch(each) && isEqual(each),
      (each) => ofNode(each) && isEqual(each),
      isEqual,
    ]);
  }
}

/** Returns a key that is the same for equal inputs. The text of an input contains no line break. */
function callKey(toolName: string, input: unknown): string {
  return `${toolName}\n${canonicalText(input)}`;
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

type Test = (result: Placed<{ readonly nodeId: string }>) => boolean;

/** Returns a test for results of the node in the same branch, and a test for results of the node in any branch. */
function nearest({ nodeId, branch, agentPath }: ResultPlace): readonly [inBranch: Test, ofNode: Test] {
  const isOfAgent = ({ path }: Placed<unknown>) =>
    path === undefined ||
    (path.agentPath.length === agentPath.length && path.agentPath.every((name, at) => name === agentPath[at]));
  const ofNode: Test = (result) => result.nodeId === nodeId && isOfAgent(result);
  return [(result) => result.path?.branch === branch && ofNode(result), ofNode];
}

/** Takes the first result that passes the first test, or else the next test. */
function take<Item>(items: Item[], tests: readonly ((item: Item) => boolean)[]): Item | undefined {
  for (const test of tests) {
    const at = items.findIndex(test);
    if (at >= 0) return items.splice(at, 1)[0];
  }
  return undefined;
}
