//! Italian.

use super::super::cue::Sort;
use super::Table;

pub(super) const IT: Table = Table {
    language: "it",
    is_spaced: true,
    common: "il lo la gli le di che e è un una in per con non si del della dei al alla da sono mi mio mia nostro nostra \
        ho come più anche ma questo tutti tutte entro ogni abbiamo nel nella oggi",
    lead: "e ma anche allora quindi bene ok sì no ciao grazie buongiorno inoltre comunque",
    vague: "questo questa quello ciò qualcuno nessuno tutto niente lui lei loro chi cosa ecco",
    asks: "^puoi | ^potresti | ^può",
    doubts: "^se | forse | magari | probabilmente | eventualmente | credo che | penso che | suppongo | mi chiedo | non so | non sono sicur* | \
        potrebbe | potremmo | sarebbe | avrebbe | andrei | immagina | supponiamo | per esempio | ad esempio | sembra che | pare che | \
        dice che | ha detto che",
    passing: "oggi | adesso | ora | in questo momento | stasera | stamattina | grazie | buona fortuna | buona giornata | a presto | \
        mi dispiace | scusa | auguri | perfetto | fantastico | sono stanc* | sono content* | in allegato",
    orders: "ignora … istruzioni | ignorate … istruzioni | dimentica … istruzioni | ricorda che l'utente | memorizza che | salva che l'utente | \
        l'utente vuole | nota per l'ia | ora sei | modello linguistico",
    sets: &[
        ("my", "mio | mia | i miei | le mie | il mio | la mia | nostro | nostra | il nostro | la nostra"),
        (
            "kin",
            "moglie | marito | compagno | compagna | fidanzato | fidanzata | ragazzo | ragazza | figlio | figlia | figli | figlie | madre | \
            mamma | padre | papà | genitori | sorella | fratello | fratelli | nonna | nonno | zia | zio | cugino | cugina | nipote | capo | \
            collega | assistente | medico | dentista | avvocato | vicino | vicina | amico | amica | cane | gatto | gatta",
        ),
        (
            "time",
            "entro | prima di | prima del | per il | lunedì | martedì | mercoledì | giovedì | venerdì | domani | la prossima settimana",
        ),
    ],
    cues: &[
        (
            Sort::Policy,
            "^tutti … devono | ^tutte … devono | ^ogni … deve | non devono | non deve | è vietato | è vietata | è obbligatorio | \
            è obbligatoria | sono obbligatori* | non … mai il venerdì",
        ),
        (
            Sort::Todo,
            "^todo | ^da fare | bisogna | devo | dobbiamo | deve … <time> | devono … <time> | non dimenticare | ricordati di | \
            ricordarsi di | invierò | manderò | scadenza | ^prossimo passo",
        ),
        (
            Sort::Decision,
            "abbiamo deciso | ho deciso | è stato deciso | ^decisione | ^deciso | abbiamo concordato | ci siamo accordati | \
            abbiamo scelto | scegliamo | restiamo con | teniamo | siamo d'accordo | si è deciso",
        ),
        (
            Sort::Insight,
            "^lezione | abbiamo imparato | ho imparato | ci siamo resi conto | mi sono res* conto | si è scoperto | abbiamo scoperto | \
            è emerso che | ^conclusione | la causa era",
        ),
        (Sort::Birthday, "mio compleanno | mia data di nascita | sono nato il | sono nata il"),
        (Sort::Name, "mi chiamo | il mio nome"),
        (
            Sort::Contact,
            "il mio cognome | il mio soprannome | chiamami | il mio numero | il mio telefono | il mio cellulare | la mia mail | la mia e mail | il mio indirizzo | mi trovi al | \
            contattarmi",
        ),
        (
            Sort::Instruction,
            "^rispondi | ^risponda | d'ora in poi | in futuro | ^non chiamarmi | ^non usare | ^usa sempre | ^mai | ^sempre | \
            ^dammi del | voglio che tu",
        ),
        (
            Sort::Kin,
            "^<my> <kin> | ho un <kin> | ho una <kin> | ho due <kin> | abbiamo due <kin> | <my> <kin> si chiama | <my> <kin> è",
        ),
        (
            Sort::Constraint,
            "allergico | allergica | allergia | intollerante | celiac* | non mangio | non bevo | non posso mangiare | al massimo | \
            non più di | è limitato | è limitata | limitato a | limitata a | budget è",
        ),
        (
            Sort::Preference,
            "preferisco | mi piace | mi piacciono | adoro | amo | odio | detesto | non mi piace | non mi piacciono | uso sempre | \
            non uso mai | di solito | sono vegetarian* | sono vegan* | il mio … preferito | la mia … preferita | evito | preferisce",
        ),
        (
            Sort::Biography,
            "abito a | abito in | vivo a | vivo in | lavoro come | lavoro in | lavoro per | lavoro presso | vengo da | sono di | \
            sono un | sono una | sono nato | sono nata | studio | parlo | mi sono trasferit* | sono sposat* | ho … anni | il mio ufficio | \
            la mia casa | la mia auto | il mio lavoro | la mia lingua | insegno | dirigo | sono diabetic* | sono ingegnere | faccio il | faccio la",
        ),
        (
            Sort::Project,
            "usiamo | utilizziamo | la nostra … è | il nostro … è | la nostra … usa | il nostro … usa | la nostra … ha | \
            il nostro … chiude | la nostra … chiude | il nostro … si trova | abbiamo … dipendenti | lavoriamo con | ^correzione :",
        ),
        (
            Sort::Thing,
            "è scritto in | è scritta in | gira su | si trova a | si trova in | è situat* | ha sede | usa | utilizza | chiude alle | \
            apre alle | inizia alle | inizia il | finisce il | è responsabile | lavora come | lavora in | abita a | vive a | parla | dirige | \
            costa | appartiene a | è il direttore | è la direttrice | è composto | si tiene",
        ),
        (Sort::Idea, "^idea | ^pensiero | credo che | penso che | secondo me | potremmo | forse"),
    ],
};
