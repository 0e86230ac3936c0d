import { describe, expect, it } from "vitest";
import { judgeTrace } from "./judgeTrace.ts";
import { linedText, withLine } from "../linedText.ts";
import type { TraceLine } from "./TraceLine.ts";

type Lines = readonly TraceLine[];
type Files = Readonly<Record<string, string>>;

const [start, agents, mine] = [linedText("start"), linedText("agent-1"), linedText("person-1")];
/** Of the file `a`. */
const temporary = ".ca978112ca1bbdca-0011223344556677.agent-tmp";

const filesOf = (contents: Files): Files =>
  Object.fromEntries(Object.entries(contents).map(([path, content]) => [path, `644 ${content}`]));
const saved = (path: string, content: string | null): Lines => [
  { kind: "saving", path, content },
  { kind: "saved", path, content },
];
const begun: Lines = [
  ...saved("a", start),
  ...saved("own/1", start),
  { kind: "process" },
  { kind: "seeing" },
  { kind: "checkpoint", id: "c", files: filesOf({ a: start, "own/1": start }) },
];
const found = (contents: Files): Lines => [{ kind: "seeing" }, { kind: "found", files: filesOf(contents) }];
const staged: TraceLine = { kind: "stages", name: temporary };
const looked: TraceLine = { kind: "looks", path: "a" };
const replaced: Lines = [
  { kind: "replaces", path: "a", staged: true },
  { kind: "replaced", path: "a", staged: true },
];
const tool: Lines = [{ kind: "acts", by: "tool", paths: ["a"] }, staged, looked, ...replaced];
const command: Lines = [{ kind: "capturing" }, { kind: "acts", by: "command", paths: ["a"] }];
const captured: Lines = [{ kind: "captured" }, { kind: "capturing" }, { kind: "captured" }];
const killed: Lines = [{ kind: "killed", place: "capture" }, { kind: "process" }];
const rollsBack: Lines = [{ kind: "rollsBack", to: "c" }];
const rolledBack = (...notRestored: string[]): Lines => [{ kind: "rolledBack", to: "c", notRestored }];
const asked = (answer: string): Lines => [{ kind: "asked", path: "a", answer }];
const committed = (tag: string): Lines => [
  { kind: "committing", path: "versions/v1", tag },
  { kind: "committed", path: "versions/v1", tag },
];

const as = { a: start, "own/1": start };
const withMine = { ...as, a: mine };
const merged = withLine(start, 9, "person-2");

describe("the file trace check rejects", () => {
  const violations: readonly (readonly [name: string, lines: Lines, problem: RegExp])[] = [
    ["a person's file that changed", found({ ...as, "own/1": mine }), /own\/1 is .* a person left/],
    ["a missing file of a person", found({ a: start }), /own\/1 is missing/],
    ["a deleted file that exists again", [...saved("own/1", null), ...found(as)], /a person left missing/],
    ["a torn file", found({ ...as, a: start.slice(0, 40) }), /a is torn/],
    ["a mix of two texts", found({ ...as, a: start.slice(0, 40) + agents.slice(40) }), /a is/],
    [
      "a file that differs from the checkpoint",
      [...tool, ...rollsBack, ...rolledBack(), ...found({ ...as, a: agents })],
      /a is/,
    ],
    [
      "a save after the agent's change that a rollback replaced",
      [...tool, ...saved("a", mine), ...rollsBack, ...rolledBack(), ...found(as)],
      /a is .* a person left/,
    ],
    [
      "a save between two changes of the agent that a rollback dropped",
      [...tool, ...saved("a", mine), ...tool, ...rollsBack, ...rolledBack(), ...found(as)],
      /a is .* a person left/,
    ],
    [
      "a save after the answer that replaced the content",
      [...tool, ...rollsBack, ...asked("use_checkpoint"), ...saved("a", mine), ...rolledBack(), ...found(as)],
      /a is .* a person left/,
    ],
    [
      "a merge without the person's line",
      [...tool, ...saved("a", merged), ...rollsBack, ...asked("merge"), ...rolledBack(), ...found(as)],
      /a was merged without "9 person-2"/,
    ],
    [
      "changes of an interrupted command without a choice",
      [...command, ...killed, ...rollsBack, ...rolledBack("."), ...found({ ...as, a: agents })],
      /a is/,
    ],
    [
      "changes of a recorded command that were not reverted",
      [...command, ...captured, ...rollsBack, ...rolledBack("."), ...found({ ...as, a: agents })],
      /a is/,
    ],
    ["a file that is written without a check", [looked, staged, ...replaced, ...found(as)], /without a look/],
    ["a file that is written in place", [...replaced, ...found(as)], /without a look/],
    ["a content without a recorded write", [...tool, looked, ...replaced, ...found(as)], /nothing shows/],
    [
      "a temporary file that the next write left",
      [
        ...tool,
        ...killed,
        ...tool,
        ...rollsBack,
        ...asked("skip"),
        ...rolledBack(),
        ...found({ ...as, [temporary]: "" }),
      ],
      /is left of a write of a/,
    ],
    ["a commit that is lost", [...saved("versions/v1", ""), ...committed("x"), ...found(as)], /v1 lacks x/],
    [
      "a commit that exists twice",
      [...saved("versions/v1", ""), ...committed("x"), ...found({ ...as, "versions/v1": "x\nx\n" })],
      /v1 has x/,
    ],
    [
      "a save that a commit dropped",
      [...saved("versions/v1", mine), ...committed("x"), ...found({ ...as, "versions/v1": "x\n" })],
      /v1 is .* a person left/,
    ],
    [
      "a directory that remains without a person",
      [...rollsBack, ...rolledBack(), ...found({ ...as, "made/": "" })],
      /the tree/,
    ],
  ];

  it.each(violations)("%s", (_name, lines, problem) => {
    const { violations: seen } = judgeTrace([...begun, ...lines]);
    expect(seen.join("\n")).toMatch(problem);
  });
});

describe("the file trace check accepts", () => {
  const fine: readonly (readonly [name: string, lines: Lines])[] = [
    ["an unchanged file", found(as)],
    ["a file that the agent changed", [...tool, ...found({ ...as, a: agents })]],
    ["a file that was rolled back", [...tool, ...rollsBack, ...rolledBack(), ...found(as)]],
    [
      "a file that a person saved after the agent",
      [...tool, ...saved("a", mine), ...rollsBack, ...rolledBack(), ...found(withMine)],
    ],
    [
      "a file that a person gave up",
      [...tool, ...saved("a", mine), ...rollsBack, ...asked("use_checkpoint"), ...rolledBack(), ...found(as)],
    ],
    [
      "a merge that keeps the person's line",
      [
        ...tool,
        ...saved("a", merged),
        ...rollsBack,
        ...asked("merge"),
        ...rolledBack(),
        ...found({ ...as, a: merged }),
      ],
    ],
    [
      "a save while a command ran",
      [...command, ...saved("a", mine), ...captured, ...rollsBack, ...rolledBack(), ...found(as)],
    ],
    [
      "a merge that reverts a save made while a command ran",
      [...command, ...saved("a", merged), ...captured, ...rollsBack, ...asked("merge"), ...rolledBack(), ...found(as)],
    ],
    [
      "changes of an interrupted command that somebody chose to keep",
      [...command, ...killed, ...rollsBack, ...asked("use_current"), ...rolledBack(), ...found({ ...as, a: agents })],
    ],
    [
      "a file that the agent deleted and a person left deleted",
      [...tool, ...saved("a", mine), ...saved("a", null), ...rollsBack, ...rolledBack(), ...found(as)],
    ],
    [
      "an answer for a content that was saved again",
      [
        ...tool,
        ...saved("a", mine),
        ...rollsBack,
        ...asked("use_checkpoint"),
        ...saved("a", agents),
        ...saved("a", mine),
        ...rolledBack(),
        ...found(as),
      ],
    ],
    ["a commit that was not acknowledged", [...saved("versions/v1", ""), ...committed("x").slice(0, 1), ...found(as)]],
    [
      "a temporary file of a write that was killed",
      [...tool, ...killed, staged, looked, ...killed, ...found({ ...as, a: agents, [temporary]: agents })],
    ],
    [
      "a commit after a person's save",
      [...saved("versions/v1", mine), ...committed("x"), ...found({ ...as, "versions/v1": `${mine}x\n` })],
    ],
  ];

  it.each(fine)("%s", (_name, lines) => {
    expect(judgeTrace([...begun, ...lines]).violations).toEqual([]);
  });

  it("a save between the last check and the replacement, and counts it", () => {
    const lines: Lines = [
      ...tool,
      ...rollsBack,
      staged,
      looked,
      ...saved("a", mine),
      ...replaced,
      ...rolledBack(),
      ...found(as),
    ];
    expect(judgeTrace([...begun, ...lines])).toMatchObject({ violations: [], inWindow: 1 });
  });
});
