import { describe, expect, it } from "vitest";
import { Crashes } from "../Crashes.ts";
import { exploreFaults } from "./exploreFaults.ts";
import { soak } from "../../soak/cases.ts";

const kinds = ["lying sync", "short write", "EIO", "ENOSPC", "EMFILE", "EACCES"] as const;
const everyCall = (kind: string) => soak || kind === "lying sync" || kind === "short write";

describe("the file storage, after failed calls and a crash", () => {
  it.each(
    kinds.flatMap((kind) => [
      { kind, fromThenOn: false },
      { kind, fromThenOn: true },
    ]),
  )("keeps acknowledged data and continues: $kind, from then on: $fromThenOn", async ({ kind, fromThenOn }) => {
    const crashes = new Crashes({ samples: 2, nestEvery: 0, nestedMoments: soak ? 2 : 1, seed: 1 });
    await exploreFaults({}, crashes, { kind, fromThenOn, stride: everyCall(kind) ? 1 : 5 });
    expect(crashes.distinct).toBeGreaterThan(20);
  });
});
