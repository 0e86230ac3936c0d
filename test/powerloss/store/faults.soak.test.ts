import { describe, expect, it } from "vitest";
import { Crashes } from "../Crashes.ts";
import { exploreFaults } from "./exploreFaults.ts";
import { every, soak } from "../../soak/cases.ts";

/** The errors differ only in their code: a soak tries all. */
const errors = soak ? (["EIO", "ENOSPC", "EMFILE", "EACCES"] as const) : (["EIO"] as const);
const kinds = ["lying sync", "short write", ...errors] as const;
/** Few calls can lie or fall short, so each of them does. */
const strideOf = (kind: string) => (kind === "lying sync" || kind === "short write" ? 1 : every(12, 1));

describe("the file storage, after failed calls and a crash", () => {
  it.each(
    kinds.flatMap((kind) => [
      { kind, fromThenOn: false },
      { kind, fromThenOn: true },
    ]),
  )("keeps acknowledged data and continues: $kind, from then on: $fromThenOn", async ({ kind, fromThenOn }) => {
    const crashes = new Crashes({ samples: 2, nestEvery: 0, nestedMoments: soak ? 2 : 1, seed: 1 });
    await exploreFaults({}, crashes, { kind, fromThenOn, stride: strideOf(kind) });
    expect(crashes.distinct).toBeGreaterThan(20);
  });
});
