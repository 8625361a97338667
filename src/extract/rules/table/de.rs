//! German.

use super::super::cue::Sort;
use super::Table;

pub(super) const DE: Table = Table {
    language: "de",
    is_spaced: true,
    common: "der die das und ist ich nicht ein eine den mit von zu auf für im sich des dem als auch wir mein meine sie \
        er es bitte haben hat sind muss müssen unser unsere bis vom am um noch mir mich kein keine immer heißt",
    lead: "und aber also auch nun ja nein hallo hi hey moin bitte übrigens ach ok okay gut",
    vague: "es dies dieses diese dort hier jemand niemand alles nichts man was wer wie wo warum sie er danke",
    asks: "^können sie | ^kannst du | ^könnten sie | ^haben sie | ^hast du",
    doubts: "^wenn | ^falls | ^angenommen | vielleicht | eventuell | möglicherweise | womöglich | vermutlich | wahrscheinlich | \
        wohl kaum | könnte | könnten | würde | würden | wäre | wären | hätte | ich glaube | ich vermute | ich denke | nicht sicher | \
        weiß ich nicht | ich weiß nicht | ^ob | zum beispiel | beispielsweise | z b | er sagt | sie sagt | er sagte | sie sagte | \
        angeblich | scheinbar | anscheinend | stell dir vor",
    passing: "heute | gerade | im moment | momentan | jetzt | heute abend | danke | vielen dank | schönes wochenende | viel glück | \
        super | toll | bis später | bis bald | freue mich | tut mir leid | entschuldigung | herzlichen glückwunsch | wetter | anbei",
    orders: "ignoriere … anweisungen | ignorier … anweisungen | ignorieren sie … anweisungen | vergiss … anweisungen | vergiss deine | \
        vergiss alles | merke dir dass der nutzer | merk dir dass der nutzer | speichere dass der | hinweis an die ki | lieber assistent | \
        an die ki | sprachmodell | du bist jetzt | der nutzer will | der benutzer will",
    sets: &[
        ("my", "mein | meine | unser | unsere | meinem | meiner"),
        (
            "kin",
            "frau | mann | partner | partnerin | freund | freundin | verlobte | verlobter | sohn | söhne | tochter | töchter | kinder | \
            mutter | mama | vater | papa | eltern | schwester | bruder | geschwister | oma | opa | großmutter | großvater | tante | onkel | \
            cousin | cousine | neffe | nichte | chef | chefin | kollege | kollegin | arzt | ärztin | zahnarzt | anwalt | vermieter | \
            vermieterin | nachbar | nachbarin | hund | katze | kater | mitbewohner | mitbewohnerin",
        ),
        (
            "time",
            "bis | vor | am montag | am dienstag | am mittwoch | am donnerstag | am freitag | nächste woche | morgen",
        ),
    ],
    cues: &[
        (
            Sort::Policy,
            "^alle … müssen | ^jede … muss | ^jeder … muss | ^jedes … muss | ^alle … sollen | dürfen nicht | darf nicht | \
            ist verboten | sind verboten | ist verpflichtend | ist pflicht | wir … nie | wir … niemals | wir … immer | grundsätzlich | \
            nur mit genehmigung | wird immer | werden immer",
        ),
        (
            Sort::Todo,
            "^todo | todo : | ^aufgabe : | ich muss | wir müssen | muss … <time> | müssen … <time> | muss noch | soll … bis | \
            sollte … bis | ich werde … bis | wir werden … bis | denk daran | denke daran | nicht vergessen | vergiss nicht | \
            ^zu erledigen | frist | nächster schritt",
        ),
        (
            Sort::Decision,
            "beschlossen | entschieden | geeinigt | ^beschluss | ^entscheidung | wir nehmen | wir bleiben bei | \
            vereinbart | einigten uns | wir entschieden | abgemacht | wir werden nicht | wir setzen künftig | festgelegt",
        ),
        (
            Sort::Insight,
            "gelernt dass | ^erkenntnis | herausgefunden | stellte sich heraus | hat sich herausgestellt | \
            festgestellt dass | gemerkt dass | ^lehre | ^fazit | die ursache war",
        ),
        (
            Sort::Birthday,
            "mein geburtstag | ich habe … geburtstag | ich bin am … geboren | ich wurde am … geboren",
        ),
        (Sort::Name, "mein name | ich heiße"),
        (
            Sort::Contact,
            "mein nachname | mein vorname | mein spitzname | nenn mich | nennen sie mich | meine … nummer | meine telefonnummer | meine handynummer | meine e mail | meine mail | meine adresse | \
            meine neue adresse | erreichen sie mich | erreichst du mich | erreichbar unter",
        ),
        (
            Sort::Instruction,
            "^antworte | ^antworten sie | rufen sie mich nie | ruf mich nie | rufen sie mich nicht | ruf mich nicht | ab jetzt | \
            von nun an | in zukunft | künftig | ^verwende nie | ^verwende immer | ^schreib immer | ^schreibe immer | ^benutze | ^duze mich | \
            ^immer | ^nie | ^niemals | ich möchte dass du | ich möchte dass sie",
        ),
        (
            Sort::Kin,
            "^<my> <kin> | ich habe einen <kin> | ich habe eine <kin> | ich habe zwei <kin> | wir haben zwei <kin> | \
            <my> <kin> heißt | <my> <kin> ist",
        ),
        (
            Sort::Constraint,
            "allergisch | unverträglichkeit | vertrage kein* | höchstens | maximal | mindestens | darf nicht mehr als | \
            budget ist | budget beträgt | ist begrenzt | sind begrenzt | beschränkt auf | nicht mehr als | ich esse kein* | ich darf kein* | \
            allergie",
        ),
        (
            Sort::Preference,
            "ich mag | ich bevorzuge | ich liebe | ich hasse | ich … lieber | am liebsten | ich trinke | \
            ich bin vegetarier* | ich bin veganer* | ich esse | mir gefällt | mir gefallen | ich benutze immer | ich nutze immer | \
            ich verwende immer | mein lieblings* | meine lieblings* | ich vermeide | bevorzugt | ich habe gern | ich … ungern | \
            ich arbeite am liebsten",
        ),
        (
            Sort::Biography,
            "ich wohne | ich lebe | ich arbeite | ich bin … von beruf | ich komme aus | ich bin aus | ich studiere | \
            ich spreche | ich bin ein | ich bin eine | ich bin verheiratet | ich habe … studiert | ich bin umgezogen | ich unterrichte | \
            ich leite | ich spiele | mein beruf | mein büro | meine wohnung | mein auto | mein hobby | meine muttersprache | ich bin … jahre alt | \
            ich bin geboren | ich habe diabetes | ich besitze | ich fahre",
        ),
        (
            Sort::Project,
            "wir verwenden | wir nutzen | wir benutzen | wir setzen … ein | wir arbeiten mit | wir betreiben | wir haben … mitarbeiter* | \
            unser … ist | unsere … ist | unser … läuft | unsere … hat | unser … hat | unsere … sitzt | unser … schließt | unsere … schließt | \
            wir schließen | wir öffnen | ^korrektur : | unsere … liegt | unsere … nutzt | unser … nutzt",
        ),
        (
            Sort::Thing,
            "läuft auf | läuft in | steht in | liegt in | befindet sich | ist geschrieben in | basiert auf | besteht aus | \
            verwendet | unterstützt | schließt um | öffnet um | beginnt um | beginnt am | endet am | gehört | hat … gb | \
            hat … mitarbeiter* | ist zuständig | ist verantwortlich | arbeitet als | arbeitet bei | wohnt in | lebt in | spricht | \
            leitet | werden in … gespeichert | wird in … gespeichert | findet … statt | kostet | ist der leiter | ist die leiterin | nutzt | \
            hat ihren sitz | hat seinen sitz",
        ),
        (
            Sort::Idea,
            "^idee | ^gedanke | ich glaube | ich denke | ich finde | meiner meinung | vielleicht | man könnte | wir könnten",
        ),
    ],
};
