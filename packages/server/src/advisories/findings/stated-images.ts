/** Finds the images that changed statements can hold in, and requests them to be looked at for critical findings. */
import { randomUUID } from "node:crypto";
import { type RawBuilder, sql } from "kysely";
import type { WriteDb } from "../../db/store.ts";
import { rangeAtOrBelow } from "../../lib/uid.ts";
import type { StatementScope } from "../model/statement-key.ts";
import { SEVERITY } from "./finding.ts";

/** Leaves out images without a critical finding, as no statement changes what is announced of them. */
export async function requestStatedImages(db: WriteDb, orgUid: string, scopes: readonly StatementScope[]): Promise<void> {
  if (scopes.length === 0) return;
  const valuesOf = (kind: StatementScope["kind"]) =>
    db.dialect.valuesOf(scopes.flatMap((scope) => (scope.kind === kind ? [scope.value] : [])));
  const packages = valuesOf("package");
  const images = [
    imagesOfRepos(valuesOf("repo"), orgUid),
    ...["match_name", "match_origin"].map((key) => imagesWith(packages, key, orgUid)),
  ];
  await sql`insert into match_request (org_uid, kind, name, token)
    select ${orgUid}, 'alert', found.digest, ${randomUUID()} from (${sql.join(images, sql` union `)}) as found
      where exists (select 1 from matched_image_package as l join finding as f on f.package_id = l.package_id
          where l.image_id = found.id and f.close_time is null and f.severity = ${SEVERITY.critical} and f.is_suppressed = 0)
        and not exists (select 1 from match_request as q where q.org_uid = ${orgUid} and q.kind = 'quiet' and q.name = found.digest)
      order by found.digest
    on conflict (org_uid, kind, name) do update set token = excluded.token`.execute(db);
}

function imagesOfRepos(names: RawBuilder<unknown>, orgUid: string): RawBuilder<unknown> {
  const { lower, upper } = rangeAtOrBelow(orgUid);
  return sql`select i.id, i.digest from ${names} as v cross join repo as r cross join manifest as m cross join matched_image as i
    where r.name = v.value and r.uid >= ${lower} and r.uid < ${upper} and m.repo_uid = r.uid and i.digest = m.digest and i.org_uid = ${orgUid}`;
}

/** @param column the column of a package with the key */
function imagesWith(keys: RawBuilder<unknown>, column: string, orgUid: string): RawBuilder<unknown> {
  return sql`select i.id, i.digest from ${keys} as v cross join matched_package as p
      cross join matched_image_package as l cross join matched_image as i
    where ${sql.ref(`p.${column}`)} = v.value and p.org_uid = ${orgUid} and l.package_id = p.id and i.id = l.image_id`;
}
