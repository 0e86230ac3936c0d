import type { RunState } from "../../agent/state/RunState.ts";
import type { Message } from "../../checkpoint/messages/Message.ts";
import type { RecordedChange, RecordedCheckpoint } from "../recording/Recording.ts";
import { sameValue } from "./Divergence.ts";

type History = RunState["history"];

/** Compares the history of a replayed line with the recording, and repeats the recorded trims. */
export class ReplayedHistory {
  /** The recorded history at the last compared change. */
  expected: Message[] = [];
  /** True if the history differs from the recorded history. */
  differs = false;
  /** The length of the history at the last compared change. */
  #length = 0;
  /** The checkpoint whose changes are compared next. */
  #at = 0;
  /** The number of repeated trims. */
  #trims = 0;

  begin(messages: readonly Message[]): void {
    this.expected = [...messages];
    this.#length = messages.length;
    this.differs = false;
  }

  beginPart(): void {
    this.#at = 0;
    this.#trims = 0;
  }

  /** Returns the recorded history of a request, without the messages that followed it. */
  expectedAt(
    checkpoints: readonly RecordedCheckpoint[],
    upcoming: number,
    answer: Message | undefined,
  ): readonly Message[] {
    const { added } = this.#changes(checkpoints, upcoming)[0] ?? { added: [] };
    const until = answer ? added.findIndex((message) => sameValue(message, answer)) : -1;
    return [...this.expected, ...(until < 0 ? added : added.slice(0, until))];
  }

  /** Compares the changes of the first checkpoints, whose number is `passed`. */
  compare(history: History, checkpoints: readonly RecordedCheckpoint[], passed: number): void {
    const open = this.#changes(checkpoints, passed);
    for (let at = 0; at < open.length;) at = this.#compareNext(history, open, at);
    this.#at = passed;
    this.#trims = 0;
    this.#length = history.length;
  }

  /** Repeats the recorded trims for the current history. `upcoming` is the index after the next compared checkpoint. */
  takeTrims(history: History, checkpoints: readonly RecordedCheckpoint[], upcoming: number): void {
    if (this.differs) return;
    const open = this.#changes(checkpoints, upcoming);
    const until = open.findIndex(({ trimmed }) => trimmed) + 1;
    if (until === 0 || !this.#has(history, folded(open.slice(0, until)))) return;
    this.#compareNext(history, open, 0);
    this.#skip(checkpoints, until);
    this.takeTrims(history, checkpoints, upcoming);
  }

  /** Compares up to the next trim, or up to the end. Returns the index of the next change. */
  #compareNext(history: History, open: readonly RecordedChange[], from: number): number {
    const trim = open.findIndex(({ trimmed }, index) => index >= from && trimmed);
    const until = trim < 0 ? open.length : trim + 1;
    const changes = folded(open.slice(from, until));
    const { whole, added } = changes;
    this.differs ||= !this.#has(history, changes);
    if (whole) this.expected = [...whole];
    for (const message of added) this.expected.push(message);
    const trimmed = open[trim]?.trimmed;
    if (trimmed && !this.differs) trimTo(history, trimmed);
    if (trimmed) this.expected = [...trimmed];
    this.#length = history.length;
    return until;
  }

  #has({ entries, length }: History, { whole, added }: Folded): boolean {
    const from = whole ? 0 : this.#length;
    const wanted = whole ? [...whole, ...added] : added;
    return (
      length === from + wanted.length &&
      wanted.every((message, index) => sameValue(message, entries[from + index]?.message))
    );
  }

  #changes(checkpoints: readonly RecordedCheckpoint[], until: number): readonly RecordedChange[] {
    return checkpoints.slice(this.#at, until).flatMap(changesOf).slice(this.#trims);
  }

  #skip(checkpoints: readonly RecordedCheckpoint[], trims: number): void {
    this.#trims += trims;
    for (let count = changesOf(checkpoints[this.#at]).length; count <= this.#trims && count > 0;) {
      this.#trims -= count;
      count = changesOf(checkpoints[++this.#at]).length;
    }
  }
}

interface Folded {
  /** The last edited history. `undefined` if messages were only added. */
  readonly whole: readonly Message[] | undefined;
  readonly added: readonly Message[];
}

/** Returns the sum of changes without a trim between them. */
function folded(changes: readonly RecordedChange[]): Folded {
  const edited = changes.findLastIndex(({ history }) => history !== undefined);
  return { whole: changes[edited]?.history, added: changes.slice(edited + 1).flatMap(({ added }) => added) };
}

function changesOf(checkpoint: RecordedCheckpoint | undefined): readonly RecordedChange[] {
  return checkpoint ? [...(checkpoint.trims ?? []), checkpoint] : [];
}

/** Keeps the messages that both histories contain, so that their numbers stay. */
function trimTo(history: History, trimmed: readonly Message[]): void {
  const { messages } = history;
  let from = 0;
  const kept = trimmed.map((message) => {
    const at = messages.findIndex((each, index) => index >= from && sameValue(each, message));
    if (at < 0) return message;
    from = at + 1;
    return messages[at] as Message;
  });
  history.trim(kept);
}
