import type { Thoroughness } from "./Crashes.ts";
import { every, soak } from "../soak/cases.ts";

/** How thoroughly power loss is tried. */
export const thoroughness: Thoroughness = {
  ...(soak ? { samples: 3, nestEvery: 1, nestedMoments: 2 } : { samples: 1, nestEvery: 6, nestedMoments: 1 }),
  stride: every(12, 1),
  seed: 1,
};

/** A whole agent takes longer to recover. */
export const agentThoroughness: Thoroughness = {
  samples: 1,
  nestEvery: soak ? 4 : 8,
  nestedMoments: 1,
  stride: every(30, 2),
  seed: 1,
};
