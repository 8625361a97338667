//! French.

use super::super::cue::Sort;
use super::Table;

pub(super) const FR: Table = Table {
    language: "fr",
    is_spaced: true,
    common: "le la les de des du et est un une je il elle que qui dans pour pas sur au avec ce se mon ma mes nous notre \
        vous votre son on sont être à en j'ai c'est d'un d'une l'on depuis ne plus avant toutes tous",
    lead: "et mais aussi donc alors bon ok oui non bonjour salut merci enfin bref",
    vague: "il elle c'est ce cela ça ceci ils on quelqu'un personne tout rien qui quoi voici voilà",
    asks: "^peux tu | ^pouvez vous | ^pourriez vous | ^pourrais tu | est ce que",
    doubts: "^si | ^s'il | peut être | sans doute | probablement | éventuellement | possiblement | je crois | je pense | je suppose | \
        je me demande | je ne sais pas | pas sûr | pas sûre | pourrait | pourrions | serait | aurait | voudrait | imagine | imaginons | \
        supposons | par exemple | il paraît | il semble | on dirait | elle dit | il dit | a dit que | irais | on verra | au cas où",
    passing: "aujourd'hui | en ce moment | maintenant | ce soir | ce matin | merci | bonne journée | bon week end | à bientôt | \
        il fait beau | il pleut | bonne chance | désolé | désolée | je suis dans le | je suis content | je suis contente | génial | super | \
        parfait | félicitations | ci joint",
    orders: "ignore … instructions | ignorez … instructions | oublie … instructions | oubliez … instructions | \
        enregistre que l'utilisateur | retiens que l'utilisateur | mémorise que l'utilisateur | l'utilisateur accepte | note à l'ia | \
        note pour l'ia | tu es maintenant | modèle de langage | cher assistant",
    sets: &[
        ("my", "mon | ma | mes | notre | nos"),
        (
            "kin",
            "femme | mari | épouse | époux | conjoint | conjointe | compagnon | compagne | copain | copine | fils | fille | filles | \
            enfants | mère | maman | père | papa | parents | sœur | soeur | frère | grand mère | grand père | tante | oncle | cousin | cousine | \
            neveu | nièce | chef | cheffe | patron | patronne | collègue | assistant | assistante | médecin | dentiste | avocat | avocate | \
            voisin | voisine | ami | amie | chien | chat | chatte",
        ),
        (
            "time",
            "avant | d'ici | pour le | au plus tard | lundi | mardi | mercredi | jeudi | vendredi | demain | la semaine prochaine",
        ),
    ],
    cues: &[
        (
            Sort::Policy,
            "^toutes … doivent | ^tous … doivent | ^chaque … doit | ne doivent pas | ne doit pas | est interdit | est interdite | \
            sont interdits | sont interdites | est obligatoire | sont obligatoires | nous ne … jamais | on ne … jamais | nous … toujours | \
            on … toujours",
        ),
        (
            Sort::Todo,
            "^todo | todo : | ^à faire | il faut … <time> | je dois | nous devons | on doit | doit … <time> | doivent … <time> | \
            n'oublie pas | n'oubliez pas | ne pas oublier | penser à | je vais … <time> | j'enverrai | date limite | échéance | ^prochaine étape",
        ),
        (
            Sort::Decision,
            "avons décidé | a décidé | j'ai décidé | ^décision | ^décidé | nous avons choisi | on a choisi | on garde | \
            nous gardons | on part sur | nous partons sur | avons convenu | il a été décidé | sommes d'accord | ^d'accord pour | \
            avons opté | nous avons retenu",
        ),
        (
            Sort::Insight,
            "^leçon | j'ai appris que | nous avons appris que | on a appris que | je me suis rendu compte | s'est avéré | \
            on a découvert | nous avons découvert | nous avons constaté | ^constat | la cause était",
        ),
        (Sort::Birthday, "mon anniversaire | ma date de naissance | je suis né le | je suis née le"),
        (Sort::Name, "mon nom est | je m'appelle"),
        (
            Sort::Contact,
            "appelez moi | mon prénom | mon nom de famille | mon surnom | appelle moi | mon numéro | mon téléphone | mon adresse | mon e mail | mon mail | mon courriel | joignable au | me joindre | \
            ma nouvelle adresse",
        ),
        (
            Sort::Instruction,
            "^réponds | ^répondez | désormais | dorénavant | à l'avenir | ^ne m'appelle | ^ne m'appelez | ^utilise toujours | \
            ^n'utilise | ^toujours | ^jamais | ^tutoie | ^vouvoie | je veux que tu | je souhaite que vous",
        ),
        (
            Sort::Kin,
            "^<my> <kin> | j'ai un <kin> | j'ai une <kin> | j'ai deux <kin> | nous avons deux <kin> | <my> <kin> s'appelle | \
            <my> <kin> est",
        ),
        (
            Sort::Constraint,
            "allergique | allergie | intolérant | intolérante | je ne mange pas | je ne bois pas | au maximum | au plus | \
            est limité | est limitée | sont limités | limité à | ne dépasse pas | ne doit pas dépasser | budget est | plafonné",
        ),
        (
            Sort::Preference,
            "je préfère | j'aime | j'adore | je déteste | je n'aime pas | j'évite | j'utilise toujours | je ne … jamais | \
            je suis végétarien | je suis végétarienne | je suis végane | mon … préféré | ma … préférée | préfère | je … toujours | \
            d'habitude je | je n'aime",
        ),
        (
            Sort::Biography,
            "j'habite | je vis à | je vis en | je travaille | je viens de | je suis né | je suis née | j'étudie | je parle | je suis un | \
            je suis une | je suis marié | je suis mariée | j'ai emménagé | j'ai déménagé | mon métier | mon bureau | ma maison | ma voiture | \
            ma langue maternelle | je suis ingénieur* | je suis médecin | je suis professeur* | j'enseigne | je dirige | je joue | \
            je suis diabétique | j'ai … ans | je suis originaire",
        ),
        (
            Sort::Project,
            "nous utilisons | on utilise | nous avons … employés | nous avons … salariés | notre … est | notre … utilise | \
            notre … ferme | notre … ouvre | notre … se trouve | notre … compte | nos … sont | nous travaillons avec | nous hébergeons | \
            nous sommes basés | ^correction :",
        ),
        (
            Sort::Thing,
            "tourne sur | se trouve à | se trouve en | est situé | est située | est basé | est basée | est écrit en | est écrite en | \
            utilise | repose sur | ferme à | ouvre à | commence à | commence le | se termine le | est hébergé | est hébergée | sont stockés | \
            sont stockées | est responsable | travaille comme | travaille chez | habite à | parle | dirige | coûte | prend en charge | \
            appartient à | est le directeur | est la directrice | a lieu | compte … employés | compte … salariés",
        ),
        (
            Sort::Idea,
            "^idée | ^pensée | je pense | je crois | à mon avis | on pourrait | nous pourrions | peut être",
        ),
    ],
};
