import { cpuTimeOf } from "./measure/cpuTimeOf.ts";
import { median } from "./measure/statistics.ts";

/** A conversation of one agent: one run a turn, which keeps what was said before. */
export interface Conversation {
  ask(): Promise<unknown>;
  /** Reads all that was said. */
  messages(): Promise<readonly unknown[]>;
  close(): Promise<void>;
}

/** Opens the conversation in a folder with nothing of it in memory, as a new process does. */
export type OpenConversation = (directory: string) => Promise<Conversation>;

/** A conversation at one of its turns: CPU time of the whole process, medians in milliseconds. */
export interface TurnFigures {
  readonly turn: number;
  /** A turn where the turns before it were made. */
  readonly hotMs: number;
  /** Opening the conversation anew, and a turn. Absent: it is in memory. */
  readonly coldMs?: number;
  /** Opening it anew, and reading all that was said. */
  readonly readMs?: number;
  /** What was said is read from one file, and parsed. */
  readonly parseMs: number;
}

export interface TurnsOptions {
  readonly turns: readonly number[];
  readonly directory: string;
  /** Whether another process could continue it. */
  readonly survives: boolean;
  /** Reads a file and parses it. */
  readonly parse: (messages: readonly unknown[]) => Promise<() => Promise<void>>;
}

export const question = "?".repeat(500);
export const answer = "!".repeat(500);

/** How many times each thing is done for a median. */
const measured = 15;
const warmUp = 200;

export async function turnsOf(open: OpenConversation, options: TurnsOptions): Promise<readonly TurnFigures[]> {
  await warmedUp(open, { ...options, directory: `${options.directory}-warm-up` });
  const hot = await open(options.directory);
  const figures: TurnFigures[] = [];
  let turn = 0;
  for (const at of options.turns) {
    for (; turn < at - 1; turn++) await hot.ask();
    figures.push({ turn: at, ...(await figuresAt(hot, open, options)) });
    turn += options.survives ? 2 * measured : measured;
  }
  await hot.close();
  return figures;
}

async function figuresAt(
  hot: Conversation,
  open: OpenConversation,
  { directory, survives, parse }: TurnsOptions,
): Promise<Omit<TurnFigures, "turn">> {
  const hotMs = await medianCpu(() => hot.ask());
  const parsed = await parse(await hot.messages());
  const parseMs = await medianCpu(parsed);
  if (!survives) return { hotMs, parseMs };
  const anew = (use: (conversation: Conversation) => Promise<unknown>) => async () => {
    const other = await open(directory);
    await use(other);
    await other.close();
  };
  const coldMs = await medianCpu(anew((other) => other.ask()));
  const readMs = await medianCpu(anew((other) => other.messages()));
  return { hotMs, coldMs, readMs, parseMs };
}

async function warmedUp(open: OpenConversation, { directory, survives }: TurnsOptions): Promise<void> {
  const hot = await open(directory);
  for (let turn = 0; turn < warmUp; turn++) await hot.ask();
  await hot.close();
  for (let turn = 0; survives && turn < warmUp / 4; turn++) {
    const other = await open(directory);
    await other.ask();
    await other.messages();
    await other.close();
  }
}

async function medianCpu(action: () => Promise<unknown>): Promise<number> {
  const times: number[] = [];
  for (let round = 0; round < measured; round++) times.push(await cpuTimeOf(action));
  return median(times);
}
