/** Reads the findings of digests of a repo over time, and keeps the latest ones for the tags that share them. */
import type { ReadDb } from "../../db/store.ts";
import { rootOf } from "../../lib/uid.ts";
import { readImageSources } from "../reports/image-sources.ts";
import type { SeverityNumber } from "./finding.ts";
import { type ImageFinding, readImageFindings } from "./image-findings.ts";
import { namesOfRepo } from "./repo-names.ts";
import { applyStatements } from "./statements.ts";

/** When a vulnerability was open. */
export type OpenPeriod = Pick<ImageFinding, "vulnerability" | "openTime" | "closeTime"> & { readonly severity: SeverityNumber };

/** Periods of all digests together. The oldest digests are dropped above it. */
const MAX_KEPT_PERIODS = 200_000;

export class Histories {
  readonly #db: ReadDb;
  readonly #since: string;
  readonly #names = new Map<string, Promise<readonly string[]>>();
  /** By repo and digest, in the order of reading. */
  readonly #kept = new Map<string, readonly OpenPeriod[]>();
  #keptPeriods = 0;

  /** @param since leaves out findings that were closed before this time, in the format of time columns */
  constructor(db: ReadDb, since: string) {
    this.#db = db;
    this.#since = since;
  }

  /** Without suppressed findings. @throws RESOURCE_EXHAUSTED if there are too many */
  async of(repoUid: string, digest: string): Promise<readonly OpenPeriod[]> {
    const key = `${repoUid} ${digest}`;
    const kept = this.#kept.get(key);
    if (kept !== undefined) return kept;
    const periods = await this.#read(repoUid, digest);
    this.#makeRoom(periods.length);
    this.#kept.set(key, periods);
    this.#keptPeriods += periods.length;
    return periods;
  }

  async #read(repoUid: string, digest: string): Promise<readonly OpenPeriod[]> {
    const orgUid = rootOf(repoUid);
    const [sources = []] = await readImageSources([{ repo_uid: repoUid, digest }], this.#db);
    const found = await readImageFindings(this.#db, { orgUid, digests: [digest, ...sources], since: this.#since });
    const stated = await applyStatements(this.#db, found, { orgUid, names: await this.#namesOf(repoUid) });
    return stated
      .filter(({ detail }) => detail.suppression === undefined)
      .map(({ vulnerability, severity, openTime, closeTime }) => ({ vulnerability, severity, openTime, closeTime }));
  }

  #namesOf(repoUid: string): Promise<readonly string[]> {
    const names = this.#names.get(repoUid) ?? namesOfRepo(this.#db, repoUid);
    this.#names.set(repoUid, names);
    return names;
  }

  #makeRoom(periods: number): void {
    for (const [key, { length }] of this.#kept) {
      if (this.#keptPeriods + periods <= MAX_KEPT_PERIODS) return;
      this.#kept.delete(key);
      this.#keptPeriods -= length;
    }
  }
}
