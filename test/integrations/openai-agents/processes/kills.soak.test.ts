import { execFile } from "node:child_process";
import { rm } from "node:fs/promises";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { bundleWorker } from "../../../kill/bundleWorker.ts";
import { temporaryDirectory } from "../../../kill/temporaryDirectory.ts";
import { every, wholeSoak } from "../../../soak/cases.ts";

const rooms = ["a", "b", "c", "d", "e", "f"];
const questions = [
  "first 0",
  "first 2",
  "first 3",
  "second 4",
  "second 5",
  "helper 0",
  "helper 1",
  "other 0",
  "other 1",
  "second 7",
];
/** A step with this many calls, in the session. */
const stepOf = (count: number) =>
  ["function_call", "function_call_result"].flatMap((kind) => Array.from({ length: count }, () => kind));
const kinds = ["message", ...[2, 1, 1, 1, 2].flatMap(stepOf), "message"];

let home: string;
let program: string;

beforeAll(async () => {
  home = await temporaryDirectory();
  program = await bundleWorker(home, "../integrations/openai-agents/processes/killedWorker.ts");
});
afterAll(() => rm(home, { recursive: true, force: true }));

/** What a process printed; `undefined`: it was killed. */
function inOwnProcess(parameters: readonly string[]): Promise<string | undefined> {
  return new Promise((resolve, reject) =>
    execFile(process.execPath, [program, ...parameters], (ended, stdout, stderr) => {
      if (ended?.signal === "SIGKILL") resolve(undefined);
      else if (ended) reject(new Error(stderr));
      else resolve(stdout);
    }),
  );
}

interface End {
  readonly booked: readonly string[];
  readonly asked: readonly string[];
  readonly kinds: readonly string[];
  readonly finalOutput: string;
  readonly streamed: string;
}

/** Runs processes until one is not killed. */
async function runUnderKills(parameters: readonly string[]): Promise<{ readonly end: End; readonly kills: number }> {
  const directory = await temporaryDirectory();
  for (let kills = 0; ; kills++) {
    const said = await inOwnProcess([directory, ...parameters]);
    if (said === undefined) continue;
    await rm(directory, { recursive: true });
    return { end: JSON.parse(said) as End, kills };
  }
}

const failing = ["failing first 2", "failing second 5"];
const answered = ['answered book {"room":"a"}', 'answered book {"room":"c"}', 'answered ask_other {"input":"Help."}'];
const inStream = ["in stream of first 0", "in stream of second 4", "in stream of second 7"];
const inNestedStream = ["in stream of other 0", "in stream of other 1"];
const adding = ["adding 16", "added 16"];
const asking = questions.map((question) => `asking ${question}`);
const inTools = rooms.flatMap((room) => [`before ${room}`, `after ${room}`]);

/** The kills of both sessions together cover each place in a whole soak. */
const step = 2 * every(6, 1);
const shared = [...failing, ...asking, ...inTools, ...inNestedStream];

const cases = wholeSoak
  ? ["whole", "stream"].flatMap((how) =>
      ["own", "foreign"].map((session) => ({
        how,
        session,
        models: session === "own" ? "responses" : "chat",
        places: [
          ...shared.filter((_, at) => at % step === (session === "own" ? 0 : step / 2)),
          ...(how === "stream" ? [...inStream, ...answered] : []),
          ...(session === "foreign" ? adding : []),
        ],
      })),
    )
  : [
      {
        how: "stream",
        session: "own",
        models: "responses",
        places: [
          "in stream of first 0",
          'answered book {"room":"a"}',
          "after a",
          "failing first 2",
          "in stream of other 1",
        ],
      },
      {
        how: "whole",
        session: "foreign",
        models: "chat",
        places: ["asking first 0", "before d", "failing second 5", "added 16"],
      },
    ];

describe("a run of an agent of OpenAI Agents whose process is killed", () => {
  it.each(cases)("makes each call once and loses no item ($how, a session of its $session, $models)", async (each) => {
    const { how, session, models, places } = each;
    const { end, kills } = await runUnderKills([how, session, models, ...places]);
    expect(kills).toBe(places.length - places.filter((place) => failing.includes(place)).length);
    const { booked, asked, finalOutput } = end;
    expect(booked.map((line) => line.split(" ")[0])).toEqual(expect.arrayContaining(rooms));
    expect(booked).toHaveLength(rooms.length);
    expect(new Set(booked.map((line) => line.split(" ")[1])).size).toBe(rooms.length);
    // An answer that was cut is asked for anew, and no other.
    const cut = places.flatMap((place) => place.split("in stream of ")[1] ?? []);
    expect(asked.toSorted()).toEqual([...questions, ...cut].toSorted());
    expect(finalOutput.split(", ")).toHaveLength(7);
    expect(end.kinds).toEqual(kinds);
    // The agent that was asked as a stream is shown as a whole in the last process, unless its call had ended before.
    expect(["", "other booked one"]).toContain(end.streamed);
  });
});
