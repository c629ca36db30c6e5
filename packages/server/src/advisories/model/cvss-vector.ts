/** Validates CVSS vectors by the grammar of their version. Does not compute scores. Pure. */
import { Severity_Type } from "@holt/api/gen/platform/advisory/v2/security_advisories_pb.ts";

export type CvssVersion = (typeof Severity_Type)["CVSS_V2" | "CVSS_V3" | "CVSS_V4"];

interface Grammar {
  readonly prefix: RegExp;
  /** Required metrics. */
  readonly base: readonly string[];
  readonly values: ReadonlyMap<string, ReadonlySet<string>>;
  /** In version 4, metrics must have the order of its table. */
  readonly isOrdered: boolean;
}

const v2 = "AV:L,A,N AC:H,M,L Au:M,S,N C:N,P,C I:N,P,C A:N,P,C";
const v2Optional = "E:U,POC,F,H,ND RL:OF,TF,W,U,ND RC:UC,UR,C,ND CDP:N,L,LM,MH,H,ND TD:N,L,M,H,ND CR:L,M,H,ND IR:L,M,H,ND AR:L,M,H,ND";
const v3 = "AV:N,A,L,P AC:L,H PR:N,L,H UI:N,R S:U,C C:N,L,H I:N,L,H A:N,L,H";
const v3Optional =
  "E:X,U,P,F,H RL:X,O,T,W,U RC:X,U,R,C CR:X,L,M,H IR:X,L,M,H AR:X,L,M,H MAV:X,N,A,L,P MAC:X,L,H MPR:X,N,L,H MUI:X,N,R MS:X,U,C MC:X,N,L,H MI:X,N,L,H MA:X,N,L,H";
const v4 = "AV:N,A,L,P AC:L,H AT:N,P PR:N,L,H UI:N,P,A VC:H,L,N VI:H,L,N VA:H,L,N SC:H,L,N SI:H,L,N SA:H,L,N";
const v4Optional =
  "E:X,A,P,U CR:X,H,M,L IR:X,H,M,L AR:X,H,M,L MAV:X,N,A,L,P MAC:X,L,H MAT:X,N,P MPR:X,N,L,H MUI:X,N,P,A MVC:X,H,L,N MVI:X,H,L,N MVA:X,H,L,N MSC:X,H,L,N MSI:X,S,H,L,N MSA:X,S,H,L,N S:X,N,P AU:X,N,Y R:X,A,U,I V:X,D,C RE:X,L,M,H U:X,Clear,Green,Amber,Red";

const grammars: Readonly<Record<CvssVersion, Grammar>> = {
  [Severity_Type.CVSS_V2]: grammar(/^/, v2, v2Optional, false),
  [Severity_Type.CVSS_V3]: grammar(/^CVSS:3\.[01]\//, v3, v3Optional, false),
  [Severity_Type.CVSS_V4]: grammar(/^CVSS:4\.0\//, v4, v4Optional, true),
};

function grammar(prefix: RegExp, base: string, optional: string, isOrdered: boolean): Grammar {
  const metrics = (text: string) => text.split(" ").map((metric) => metric.split(":") as [string, string]);
  const values = new Map([...metrics(base), ...metrics(optional)].map(([name, list]) => [name, new Set(list.split(","))]));
  return { prefix, base: metrics(base).map(([name]) => name), values, isOrdered };
}

/** Far longer than a vector with all metrics. */
const MAX_VECTOR = 400;

export function isCvssVector(version: CvssVersion, text: string): boolean {
  const { prefix, base, values, isOrdered } = grammars[version];
  if (text.length > MAX_VECTOR || !prefix.test(text)) return false;
  const metrics = text
    .replace(prefix, "")
    .split("/")
    .map((metric) => metric.split(":"));
  const names = metrics.map(([name = ""]) => name);
  if (!metrics.every(([name = "", value = "", ...rest]) => rest.length === 0 && values.get(name)?.has(value))) return false;
  if (new Set(names).size < names.length || !base.every((name) => names.includes(name))) return false;
  const order = [...values.keys()];
  return !isOrdered || names.every((name, index) => index === 0 || order.indexOf(name) > order.indexOf(names[index - 1] ?? ""));
}
